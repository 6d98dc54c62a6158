# What Debian wants of a package's files, done between their installation and the package: pages and changes compressed, and a
# copyright and a list of changes of its form.
if(NOT CPACK_GENERATOR STREQUAL DEB)
  return()
endif()
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
set(doc ${root}/doc/memprof)
file(REMOVE ${doc}/LICENSE)
file(COPY_FILE ${CPACK_MEMPROF_PACKAGING}/debian/copyright ${doc}/copyright)
file(COPY_FILE ${CPACK_MEMPROF_PACKAGING}/debian/changelog ${doc}/changelog.Debian)
file(COPY_FILE ${CPACK_MEMPROF_PACKAGING}/../CHANGELOG.md ${doc}/changelog)
file(MAKE_DIRECTORY ${root}/lintian/overrides)
file(COPY_FILE ${CPACK_MEMPROF_PACKAGING}/debian/lintian-overrides ${root}/lintian/overrides/memprof)
# where Debian's zsh looks
file(RENAME ${root}/zsh/site-functions ${root}/zsh/vendor-completions)
file(GLOB pages ${root}/man/man1/*.1)
execute_process(COMMAND gzip -9nf ${pages} ${doc}/changelog.Debian ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
