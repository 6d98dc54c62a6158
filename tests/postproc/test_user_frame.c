/* A call stack is shown in one line by its user frame. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "frame_text.h"
#include "user_frame.h"

struct fixture {
    struct mpr_arena arena;
    struct mpr_user_frames *user_frames;
};

static int begin(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f) return -1;
    f->user_frames = mpr_user_frames_new();
    *state = f;
    return 0;
}

static int end(void **state)
{
    struct fixture *f = *state;
    mpr_user_frames_free(f->user_frames);
    mpr_arena_free(&f->arena);
    free(f);
    return 0;
}

#define PATH(...)                                                                                  \
    (const char *const[]){ __VA_ARGS__ },                                                          \
        sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *)

/* "caller > path > path" */
static void check(struct fixture *f, const char *const *path, size_t depth, bool calls,
                  const char *expected)
{
    char text[300] = "";
    const struct mpr_frame_summary summary = mpr_user_frames_summary(
        f->user_frames, &f->arena, path_of(&f->arena, path, depth, calls), calls);
    if (*summary.caller) snprintf(text, sizeof text, "%s > ", summary.caller);
    for (size_t i = 0; i < summary.path.depth; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " > " : "",
                 summary.path.frame[i]->text);
    assert_string_equal(text, expected);
}

static void calls_inside_a_linked_allocator_are_hidden(void **state)
{
    struct fixture *f = *state;
    static const char *const entry[] = { "je_malloc",
                                         "_rjem_je_malloc_default (lib.so)",
                                         "_rjem_malloc",
                                         "mi_malloc",
                                         "mi_heap_malloc",
                                         "tc_new",
                                         "rpmalloc",
                                         "rpaligned_alloc",
                                         "duckdb_je_malloc",
                                         "redis_je_calloc",
                                         "ks_je_malloc",
                                         "_rjem_rallocx",
                                         "je_sdallocx",
                                         "je_malloc_usable_size",
                                         "tc_memalign",
                                         "tc_posix_memalign",
                                         "tc_newarray",
                                         "mi_heap_zalloc_aligned_at",
                                         "mi_new_nothrow",
                                         "mi_strdup",
                                         "_mi_heap_malloc_zero (alloc.c:7)",
                                         "sn_rust_alloc",
                                         "sn_malloc",
                                         "dlmalloc",
                                         "dlposix_memalign",
                                         "nedmalloc",
                                         "nedpcalloc",
                                         "os_pages_map (pages.c:7)",
                                         "_mi_os_alloc_aligned (os.c:3)",
                                         "snmalloc::alloc_",
                                         "scudo::Allocator::allocate" };
    for (size_t i = 0; i < sizeof entry / sizeof *entry; i++) {
        const char *const text[] = { "main (a.c:1)", "load (a.c:9)", entry[i],
                                     "os_pages_map (pages.c:7)", "grow" };
        struct mpr_path path = path_of(&f->arena, text, 5, true);
        check(f, text, 5, true, "main > load (a.c:9)");
        assert_ptr_equal(mpr_user_frames_allocator(f->user_frames, path), path.frame[2]);
        path.depth = 2;
        assert_null(mpr_user_frames_allocator(f->user_frames, path));
    }
    check(f, PATH("_rjem_je_background_thread (b.c:1)", "_rjem_je_pages_map (pages.c:7)"), true,
          "_rjem_je_background_thread (b.c:1)");
    check(f, PATH("main (a.c:1)", "je_parse (a.c:7)"), true, "main > je_parse (a.c:7)");
}

static void a_function_with_only_the_prefix_of_an_allocator_is_the_program_s(void **state)
{
    struct fixture *f = *state;
    static const char *const own[] = { "tc_alloc_tiles",
                                       "sn_alloc_nodes",
                                       "mi_reallocate_image",
                                       "je_parse",
                                       "mi_heap_of",
                                       "_mi_parse",
                                       "gtk_mi_new",
                                       "tc_new_tile",
                                       "rpmalloc_report",
                                       "dlopen_all",
                                       "_rjem_je_background_thread" };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        char call[80], expected[100];
        snprintf(call, sizeof call, "%s (a.c:7)", own[i]);
        snprintf(expected, sizeof expected, "main > %s", call);
        const char *const text[] = { "main (a.c:1)", call, "mmap (libc.so.6)" };
        check(f, text, 3, true, expected);
        assert_null(mpr_user_frames_allocator(f->user_frames, path_of(&f->arena, text, 3, true)));
    }
}

static void native(void **state)
{
    struct fixture *f = *state;
    check(
        f,
        PATH(
            "main (srv.cpp:60)", "build_index (srv.cpp:19)",
            "std::vector<Row, std::allocator<Row> >::push_back (stl_vector.h:1289)",
            "void std::vector<Row, std::allocator<Row> >::_M_realloc_insert<Row const&> (vector.tcc:459)",
            "__gnu_cxx::new_allocator<Row>::allocate (new_allocator.h:137)",
            "operator new (libstdc++.so.6)"),
        true, "main > build_index (srv.cpp:19)");
    check(f, PATH("main (a.c:1)", "xmalloc (util.c:3)"), true, "main (a.c:1)");
    check(f,
          PATH("_start (prog)", "__libc_start_main_impl (libc-start.c:360)", "malloc (libc.so.6)"),
          true, "malloc (libc.so.6)");
    check(f, PATH("parse (p.c:9)", "parse (p.c:9)", "parse (p.c:7)"), true, "parse (p.c:7)");
    /* debug information may not contain std:: */
    check(f,
          PATH("main (v.cpp:30)", "fill_fs (v.cpp:17)",
               "emplace_back<fill_fs(int)::<lambda()> > (vector.tcc:114)",
               "_M_create<fill_fs(int)::<lambda()> > (std_function.h:161)",
               "operator new (libstdc++.so.6)"),
          true, "main > fill_fs (v.cpp:17)");
    check(f,
          PATH("start_pool (t.cpp:9)", "allocate_stack (allocatestack.c:383)",
               "allocate_dtv (dl-tls.c:401)", "calloc (libc.so.6)"),
          true, "start_pool (t.cpp:9)");
    check(f,
          PATH("void fill<std::vector<int, std::allocator<int> > > (a.cpp:3)",
               "operator new (libstdc++.so.6)"),
          true, "fill<..> (a.cpp:3)");
}

/* The runtime that nvcc links into a program has one symbol for all of its functions. */
static void a_linked_cuda_runtime_is_not_shown(void **state)
{
    struct fixture *f = *state;
    check(f,
          PATH("main (serve.cu:15)", "preprocess (serve.cu:9)", "cudaMalloc (serve)",
               "libcudart_static_1f2e3d4c5b6a (serve)"),
          true, "main > preprocess (serve.cu:9)");
    check(f, PATH("main (serve.cu:14)", "cudaMallocManaged (serve)", "__cudart1270 (serve)"), true,
          "main (serve.cu:14)");
    check(f, PATH("main (serve.cu:14)", "cudaMalloc<char> (cuda_runtime.h:687)"), true,
          "main (serve.cu:14)");
}

static void the_place_is_that_of_the_innermost_own_call(void **state)
{
    struct fixture *f = *state;
    const struct mpr_path path = path_of(&f->arena,
                                         PATH("<module> (train.py:212)", "forward (model.py:318)",
                                              "Module._call_impl (torch/nn/modules/module.py:1790)",
                                              "loss [head] (loss.py:41)"),
                                         true);
    assert_string_equal(mpr_user_frames_places(f->user_frames, &f->arena, path, 3),
                        "train.py:212 > model.py:318 > loss.py:41");
    assert_string_equal(mpr_user_frames_places(f->user_frames, &f->arena, path, 2),
                        "... > model.py:318 > loss.py:41");
    assert_string_equal(mpr_user_frames_places(f->user_frames, &f->arena,
                                               path_of(&f->arena, PATH("prog+0x10"), true), 3),
                        "");
}

static void calls_without_names_show_their_library(void **state)
{
    struct fixture *f = *state;
    check(f,
          PATH("jq+0x32dc", "jq+0x4078", "jq_next (libjq.so.1)", "jv_object_set (libjq.so.1)",
               "libjq.so.1+0x1e816", "libjq.so.1+0x1bd87", "jv_mem_alloc (libjq.so.1)"),
          true, "jq_next > jv_object_set (libjq.so.1)");
    check(f, PATH("libc.so.6+0x2700", "prog+0x1000", "prog+0x1100"), true, "prog+0x1100");
    check(f, PATH("qsort_with (libsort.so)", "prog+0x1100", "libc.so.6+0x2600"), true,
          "qsort_with > prog+0x1100");
    check(f, PATH("libc.so.6+0x2600"), true, "libc.so.6+0x2600");
    check(f, PATH("prog+0x1100", "libstdc++.so.6.0.33+0xecdb4"), true, "prog+0x1100");
}

static void python(void **state)
{
    struct fixture *f = *state;
    check(f,
          PATH("Thread._bootstrap (python3.11/threading.py:1002)",
               "Thread._bootstrap_inner (python3.11/threading.py:1045)",
               "Thread.run (python3.11/threading.py:982)", "work (t.py:7)",
               "Keep.__init__ (t.py:5)", "load (t.py:3)", "load.<locals>.<listcomp> (t.py:3)",
               "loads (python3.11/json/__init__.py:346)",
               "JSONDecoder.decode (python3.11/json/decoder.py:337)",
               "JSONDecoder.raw_decode (python3.11/json/decoder.py:353)"),
          true, "Keep.__init__ > load.<locals>.<listcomp> (t.py:3) > loads");
    check(f,
          PATH("<module> (a.py:2)", "_find_and_load (<frozen importlib._bootstrap>:1176)",
               "SourceLoader.get_code (<frozen importlib._bootstrap_external>:1073)"),
          true, "<module> (a.py:2) > import");
    check(f,
          PATH("_find_and_load (<frozen importlib._bootstrap>:1176)", "<module> (<frozen os>:29)"),
          true, "<module> (<frozen os>:29)");
    check(f, PATH("<module> (<string>:4)"), true, "<module> (<string>:4)");
}

/* A file of the program may have the same name as one of a library or package. */
static void own_files_are_recognised_by_their_folder(void **state)
{
    struct fixture *f = *state;
    check(f, PATH("main (t.py:9)", "copy (copy.py:3)", "Linear.forward (linear.py:5)"), true,
          "copy > Linear.forward (linear.py:5)");
    check(f, PATH("main (t.py:9)", "pad (datasets/utils.py:3)"), true, "main (t.py:9) > pad");
    check(f, PATH("main (t.py:9)", "pad (utils.py:3)"), true, "main > pad (utils.py:3)");
    check(f,
          PATH("main (t.py:9)", "Trainer.train (transformers/trainer.py:100)",
               "MLP._wrapped_call_impl [layers.3.mlp] (torch/nn/modules/module.py:1779)",
               "MLP.forward [layers.3.mlp] (transformers/models/llama.py:20)"),
          true, "[layers.3.mlp] main (t.py:9) > MLP.forward");
}

/* These names follow the documentation of the function that the program called. */
static void functions_of_jax_and_numba_are_the_documented_ones(void **state)
{
    struct fixture *f = *state;
    check(
        f,
        PATH(
            "<module> (train.py:18)",
            "api_boundary.<locals>.reraise_with_filtered_traceback (jax/_src/traceback_util.py:194)",
            "_cpp_pjit.<locals>.cache_miss (jax/_src/pjit.py:266)",
            "_run_python_pjit (jax/_src/pjit.py:142)",
            "ExecuteReplicated.__call__ (jax/_src/interpreters/pxla.py:420)"),
        true, "<module> (train.py:18) > jit");
    check(
        f,
        PATH(
            "init (train.py:4)", "zeros_like (jax/_src/numpy/array_creation.py:319)",
            "api_boundary.<locals>.reraise_with_filtered_traceback (jax/_src/traceback_util.py:194)",
            "_cpp_pjit.<locals>.cache_miss (jax/_src/pjit.py:266)"),
        true, "init (train.py:4) > zeros_like");
    check(
        f,
        PATH(
            "main (sum.py:10)",
            "require_context.<locals>._require_cuda_context (numba_cuda/numba/cuda/cudadrv/devices.py:231)",
            "to_device (numba_cuda/numba/cuda/api.py:148)",
            "Context.memalloc (numba_cuda/numba/cuda/cudadrv/driver.py:1177)"),
        true, "main (sum.py:10) > to_device");
}

/* If all frames belong to a package, it represents the program. */
static void a_package_represents_a_program_without_own_code(void **state)
{
    struct fixture *f = *state;
    check(f,
          PATH("<module> (bin/vllm:8)", "main (vllm/cli/main.py:50)",
               "load_model (vllm/worker.py:7)", "Linear.__init__ (torch/nn/modules/linear.py:90)",
               "loads (python3.11/json/__init__.py:346)"),
          true, "main > load_model (vllm/worker.py:7) > Linear.__init__");
    mpr_user_frames_hide(f->user_frames, "* (vllm/worker.py*");
    mpr_user_frames_hide(f->user_frames, "* (main.py*");
    check(f,
          PATH("serve (vllm/cli/serve.py:5)", "main (vllm/cli/main.py:51)",
               "load_model (vllm/worker.py:8)"),
          true, "serve (vllm/cli/serve.py:5)");
}

static void modules_of_torch_are_shown_with_their_path(void **state)
{
    struct fixture *f = *state;
    check(f,
          PATH("<module> (gold.py:18)", "main (gold.py:3)",
               "Sequential.cuda (torch/nn/modules/module.py:1097)",
               "Sequential._apply (torch/nn/modules/module.py:934)",
               "Linear._apply [0] (torch/nn/modules/module.py:965)",
               "Module.cuda.<locals>.<lambda> (torch/nn/modules/module.py:1097)"),
          true, "[0] main (gold.py:3) > Sequential.cuda");
    check(f,
          PATH("main (gold.py:6)",
               "Block._wrapped_call_impl [layers.3] (torch/nn/modules/module.py:1779)",
               "Module._call_impl (torch/nn/modules/module.py:1790)",
               "Block.forward [layers.3] (model.py:40)",
               "Linear._wrapped_call_impl [layers.3.mlp] (torch/nn/modules/module.py:1779)",
               "Module._call_impl (torch/nn/modules/module.py:1790)",
               "Linear.forward [layers.3.mlp] (torch/nn/modules/linear.py:134)"),
          true, "main > [layers.3.mlp] Block.forward (model.py:40) > Linear.forward");
    check(f,
          PATH("<module> (train.py:7)",
               "TransformerEncoderLayer.forward [0] (torch/nn/modules/transformer.py:900)",
               "TransformerEncoderLayer._ff_block [0] (torch/nn/modules/transformer.py:950)",
               "relu (torch/nn/functional.py:1723)"),
          true, "[0] <module> (train.py:7) > relu");
}

static void ranges_are_shown_unchanged(void **state)
{
    struct fixture *f = *state;
    check(f, PATH("step", "forward"), false, "step > forward");
    check(f, PATH("libnccl.so.2"), false, "libnccl.so.2");
    check(f, PATH("capture (bs=3)", "warmup (2)"), false, "capture (bs=3) > warmup (2)");
    check(f, PATH("main (srv.c:1)", "fill (a.c:3)", "xmalloc (a.c:9)"), false,
          "main > fill (a.c:3)");
    check(
        f,
        PATH("step", "torch:DistributedDataParallel.forward", "Net.forward (train.py:30)",
             "Linear.forward [fc] (torch/nn/modules/linear.py:134)"),
        false,
        "step > torch:DistributedDataParallel.forward > [fc] Net.forward (train.py:30) > Linear.forward");
    const struct mpr_frame_summary none =
        mpr_user_frames_summary(f->user_frames, &f->arena, (struct mpr_path){ NULL, 0 }, false);
    assert_int_equal(none.path.depth, 0);
}

static void a_backward_pass_follows_its_operator(void **state)
{
    struct fixture *f = *state;
    check(f,
          PATH("backward of <module> (t.py:5)", "Net.forward [head] (t.py:3)",
               "Linear.forward [head] (torch/nn/modules/linear.py:134)", "torch:AddmmBackward0"),
          false, "[head] Net.forward (t.py:3) > torch:AddmmBackward0");
    check(f, PATH("backward of <module> (t.py:5)", "Net.forward [head] (t.py:3)"), true,
          "[head] Net.forward (t.py:3)"); /* the body of a file does not count as a caller */
    check(f, PATH("backward of step", "forward", "torch:AddmmBackward0"), false,
          "backward of step > forward > torch:AddmmBackward0");
    check(f, PATH("backward of <module> (t.py:5)"), true, "backward of <module> (t.py:5)");
}

static void brackets_that_are_not_modules_are_kept(void **state)
{
    struct fixture *f = *state;
    check(f, PATH("Table::operator[] (t.cpp:3)", "std::vector<int>::operator[] (v.h:1)"), true,
          "Table::operator[] (t.cpp:3)");
    check(f, PATH("name[abi:cxx11] (t.cpp:3)"), true, "name[abi:cxx11] (t.cpp:3)");
}

static void the_user_can_extend_the_list_of_hidden_frames(void **state)
{
    struct fixture *f = *state;
    mpr_user_frames_hide(f->user_frames, "pool_take");
    mpr_user_frames_hide(f->user_frames, "* (glue.c:*");
    check(f, PATH("main (a.c:1)", "serve (a.c:9)", "any (glue.c:3)", "pool_take (pool.c:3)"), true,
          "main > serve (a.c:9)");
}

static const char *shortened(struct fixture *f, const char *text, bool call)
{
    return mpr_frame_short(&f->arena, frame_of(&f->arena, text, call))->text;
}

static void templates_are_shortened(void **state)
{
    static const char *const call[][2] = {
        { "std::vector<int>::at (a.h:1)", "std::vector<int>::at (a.h:1)" },
        { "std::map<std::string, std::vector<int> >::at (a.h:1)", "std::map<..>::at (a.h:1)" },
        { "void va_gc::reserve<tree_node*, va_gc> (cc1plus)", "va_gc::reserve<..> (cc1plus)" },
        { "<core::Vec<T> as Clone>::clone (v.rs:1)", "<core::Vec<T> as Clone>::clone (v.rs:1)" },
        { "A::operator< (a.h:1)", "A::operator< (a.h:1)" },
        { "f<some::long_name_of_a_type> (a.cpp:1)", "f<..> (a.cpp:1)" },
        { "g<some::long_name_of_a_type> (prog)", "g<..> (prog)" },
        { "load.<locals>.<listcomp> (a.py:1)", "load.<locals>.<listcomp> (a.py:1)" },
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof call / sizeof *call; i++)
        assert_string_equal(shortened(f, call[i][0], true), call[i][1]);
    assert_string_equal(shortened(f, "batch<some long name of a range>", false),
                        "batch<some long name of a range>");
}

/* If the code looked back or ahead at each of these characters, this would not end. */
static void very_long_runs_of_brackets_are_kept(void **state)
{
    enum { SIGNS = 4 << 20 };
    struct fixture *f = *state;
    char *const text = malloc(SIGNS + 1);
    assert_non_null(text);
    text[SIGNS] = 0;
    memset(text, '<', SIGNS);
    text[0] = 'x';
    assert_string_equal(shortened(f, text, true), text);
    for (size_t i = 0; i < SIGNS; i += 2) text[i] = 'a';
    assert_string_equal(shortened(f, text, true), text);
    free(text);
}

static void operators_are_shortened(void **state)
{
    static const char *const name[][2] = {
        { "std::basic_string<char, std::char_traits<char> > std::operator+<char, "
          "std::char_traits<char> > (a.h:1)",
          "std::operator+<..> (a.h:1)" },
        { "std::ostream& std::operator<< <std::char_traits<char> > (a.h:1)",
          "std::operator<< <..> (a.h:1)" },
        { "bool std::operator< <std::pair<int, int>, long> (a.h:1)",
          "std::operator< <..> (a.h:1)" },
        { "bool operator<=><std::pair<int, int>, long> (a.h:1)", "operator<=><..> (a.h:1)" },
        { "A<std::pair<int, long> >::operator<< (a.h:1)", "A<..>::operator<< (a.h:1)" },
        { "void F::operator()<std::vector<int>, long> (a.h:1)", "F::operator()<..> (a.h:1)" },
        { "std::istream& operator>><std::char_traits<char> > (a.h:1)", "operator>><..> (a.h:1)" },
        { "A<std::pair<int, long> >::operator std::string (a.h:1)",
          "A<..>::operator std::string (a.h:1)" },
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        assert_string_equal(shortened(f, name[i][0], true), name[i][1]);
}

/* Decorators and dispatch functions of PyTorch and transformers do not show which function was
 * called. */
static void wrappers_of_a_call_are_not_shown(void **state)
{
    struct fixture *f = *state;
    check(
        f,
        PATH(
            "<module> (t.py:33)",
            "contract.<locals>.inner.<locals>.wrapper (torch/distributed/_composable/contract.py:204)",
            "fully_shard (torch/distributed/fsdp/_fully_shard/_fully_shard.py:9)"),
        true, "<module> (t.py:33) > fully_shard");
    check(f,
          PATH("main (t.py:5)",
               "_exception_logger.<locals>.wrapper (torch/distributed/c10d_logger.py:81)",
               "all_reduce (torch/distributed/distributed_c10d.py:9)"),
          true, "main (t.py:5) > all_reduce");
    check(f,
          PATH("main (t.py:5)", "boolean_dispatch.<locals>.fn (torch/_jit_internal.py:628)",
               "_max_pool2d (torch/nn/functional.py:9)"),
          true, "main (t.py:5) > _max_pool2d");
    check(f,
          PATH("step (t.py:5)", "LlamaForCausalLM.wrapper (transformers/utils/generic.py:5)",
               "LlamaForCausalLM.forward (transformers/models/llama/modeling_llama.py:9)"),
          true, "step (t.py:5) > LlamaForCausalLM.forward");
    check(f,
          PATH("step (t.py:5)",
               "DistributedDataParallel._pre_forward (torch/nn/parallel/distributed.py:5)",
               "Linear.forward (torch/nn/modules/linear.py:9)"),
          true, "step (t.py:5) > Linear.forward");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(native),
        TEST(a_linked_cuda_runtime_is_not_shown),
        TEST(calls_inside_a_linked_allocator_are_hidden),
        TEST(a_function_with_only_the_prefix_of_an_allocator_is_the_program_s),
        TEST(the_place_is_that_of_the_innermost_own_call),
        TEST(calls_without_names_show_their_library),
        TEST(python),
        TEST(own_files_are_recognised_by_their_folder),
        TEST(functions_of_jax_and_numba_are_the_documented_ones),
        TEST(a_package_represents_a_program_without_own_code),
        TEST(modules_of_torch_are_shown_with_their_path),
        TEST(wrappers_of_a_call_are_not_shown),
        TEST(ranges_are_shown_unchanged),
        TEST(a_backward_pass_follows_its_operator),
        TEST(brackets_that_are_not_modules_are_kept),
        TEST(the_user_can_extend_the_list_of_hidden_frames),
        TEST(templates_are_shortened),
        TEST(operators_are_shortened),
        TEST(very_long_runs_of_brackets_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
