# MEMPROF_COVERAGE: each program and library writes, when it ends, which of its lines were reached (scripts/coverage.py sums them up).
# Programs that are killed say nothing, so what only they reach is not counted.
option(MEMPROF_COVERAGE "Lines that tests reach are counted" OFF)
if(MEMPROF_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
