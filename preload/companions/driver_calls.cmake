# mp_driver_calls(FILE): writes, of each call that memprof listens to (cuda/calls.def, cuda/launches.def) and that a program can
# find by its name, MP_DRIVER_CALL(name, (parameters), (arguments)); MP_DRIVER_CALL_PLAIN(name) for one without parameters.
# CUPTI's structs of parameters are made from the prototypes: same types, same order.  A call that has neither a struct nor a
# prototype in these headers has no name for programs.
function(mp_driver_calls file)
  file(READ ${CUPTI_INCLUDE_DIR}/generated_cuda_meta.h structs)
  file(STRINGS ${CUDA_INCLUDE_DIR}/cuda.h plain REGEX "^CUresult CUDAAPI [A-Za-z0-9_]+\\(void\\);")
  file(STRINGS cuda/calls.def calls REGEX "^MP_CALL")
  file(STRINGS cuda/launches.def launches REGEX "^MP_CALL")
  set(text "")
  foreach(call ${calls} ${launches})
    string(REGEX REPLACE "^MP_CALL\\(([A-Za-z0-9_]+),.*" "\\1" name ${call})
    if(structs MATCHES "struct ${name}_params_st {([^}]*)}")
      string(REGEX REPLACE "[ \n]+" " " fields "${CMAKE_MATCH_1}")      # each ends with a semicolon: a list of CMake's
      list(TRANSFORM fields STRIP)
      list(FILTER fields EXCLUDE REGEX "^$")
      set(names ${fields})
      list(TRANSFORM names REPLACE "^.*[ *]([A-Za-z0-9_]+)$" "\\1")
      list(JOIN fields ", " fields)
      list(JOIN names ", " names)
      string(APPEND text "MP_DRIVER_CALL(${name}, (${fields}), (${names}))\n")
    elseif(plain MATCHES " ${name}\\(void\\)")
      string(APPEND text "MP_DRIVER_CALL_PLAIN(${name})\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cuda/calls.def cuda/launches.def)
endfunction()
