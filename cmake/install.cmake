# The files that `cmake --install` installs in addition to memprof-report, which installs itself and its page.
if(NOT MEMPROF_SANITIZE)
  install(TARGETS memprof memprof-jemalloc memprof-mimalloc memprof-tcmalloc LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(MEMPROF_CUDA)
    install(TARGETS memprof-cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
  install(TARGETS memprof-launcher RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES docs/man/memprof.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
foreach(program memprof memprof-report)      # bash looks for a file of the command's name
  install(FILES completions/memprof.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program})
endforeach()
install(FILES completions/_memprof DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
# The Python package, in the folder that Debian's Python searches. Its metadata let pytest and pip find it.
set(python lib/python3/dist-packages)
install(DIRECTORY python/memprof_report DESTINATION ${python} FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
configure_file(python/METADATA.in python/METADATA @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/python/METADATA python/entry_points.txt DESTINATION ${python}/memprof_report-${PROJECT_VERSION}.dist-info)
install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The documents and the skill for assistants, in the folders to which their links point.
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN man EXCLUDE)
install(FILES format/FORMAT.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/format)
