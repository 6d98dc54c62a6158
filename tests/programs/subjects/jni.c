/* The library that Native.java loads. Threads that Java does not know allocate blocks and call
 * Java. */
#include <jni.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 64

/* Each block gets its own number and is passed to the next round, which frees it. */
static void *churn(void *rounds)
{
    size_t good = 0;
    size_t *kept[64] = { 0 };
    for (size_t i = 0; i < (size_t)(uintptr_t)rounds; i++) {
        const size_t slot = i % 64;
        good += kept[slot] ? *kept[slot] == i - 64 : 1;
        free(kept[slot]);
        kept[slot] = malloc(sizeof(size_t) + i % 5000);
        if (kept[slot]) *kept[slot] = i;
    }
    for (size_t slot = 0; slot < 64; slot++) free(kept[slot]);
    return (void *)good;
}

JNIEXPORT jlong JNICALL Java_Native_blocks(JNIEnv *env, jclass class, jint threads, jint rounds)
{
    (void)env, (void)class;
    pthread_t thread[THREADS];
    jlong good = 0;
    for (int t = 0; t < threads && t < THREADS; t++)
        if (pthread_create(&thread[t], NULL, churn, (void *)(uintptr_t)rounds)) return -1;
    for (int t = 0; t < threads && t < THREADS; t++) {
        void *result;
        pthread_join(thread[t], &result);
        good += (jlong)(uintptr_t)result;
    }
    return good;
}

JNIEXPORT jbyteArray JNICALL Java_Native_backwards(JNIEnv *env, jclass class, jbyteArray array)
{
    (void)class;
    const jsize n = (*env)->GetArrayLength(env, array);
    jbyte *in = (*env)->GetByteArrayElements(env, array, NULL);
    jbyte *out = malloc((size_t)n);
    jbyteArray result = (*env)->NewByteArray(env, n);
    if (in && out && result) {
        for (jsize i = 0; i < n; i++) out[i] = in[n - 1 - i];
        (*env)->SetByteArrayRegion(env, result, 0, n, out);
    }
    free(out);
    (*env)->ReleaseByteArrayElements(env, array, in, JNI_ABORT);
    return result;
}

static JavaVM *machine;
static jobject subject;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *call(void *unused)
{
    (void)unused;
    JNIEnv *env;
    if ((*machine)->AttachCurrentThread(machine, (void **)&env, NULL)) return NULL;
    const jmethodID method =
        (*env)->GetMethodID(env, (*env)->GetObjectClass(env, subject), "callback", "()V");
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        (*env)->CallVoidMethod(env, subject, method);
        pthread_mutex_unlock(&lock);
    }
    (*machine)->DetachCurrentThread(machine);
    return "";
}

JNIEXPORT jint JNICALL Java_Native_called(JNIEnv *env, jclass class, jobject self)
{
    (void)class;
    pthread_t thread[4];
    jint good = 0;
    (*env)->GetJavaVM(env, &machine);
    subject = (*env)->NewGlobalRef(env, self);
    for (int t = 0; t < 4; t++)
        if (pthread_create(&thread[t], NULL, call, NULL)) return -1;
    for (int t = 0; t < 4; t++) {
        void *result;
        pthread_join(thread[t], &result);
        good += result != NULL;
    }
    (*env)->DeleteGlobalRef(env, subject);
    return good;
}
