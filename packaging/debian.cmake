# Changes the installed files to follow Debian's rules: compressed manual pages and changelog, and a copyright and
# changelog in Debian's format.
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
# the folder that Debian's zsh reads
file(RENAME ${root}/zsh/site-functions ${root}/zsh/vendor-completions)
file(GLOB pages ${root}/man/man1/*.1)
execute_process(COMMAND gzip -9nf ${pages} ${doc}/changelog.Debian ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
