# Installation and packages: stripped programs, their symbols beside them, manual pages, completion, documents, examples, licence.

# athanor_install_program(TARGET [OPTIONAL]): installs the program stripped; its symbols go to lib/debug/athanor/NAME.debug, where gdb
# finds them by the link in the program.
function(athanor_install_program target)
  install(TARGETS ${target} ${ARGN} RUNTIME COMPONENT program)
  install(CODE "
    set(program \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/bin/${target}\")
    set(symbols \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/debug/athanor\")
    if(EXISTS \"\${program}\")
      file(MAKE_DIRECTORY \"\${symbols}\")
      execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --only-keep-debug \"\${program}\" \"\${symbols}/${target}.debug\" COMMAND_ERROR_IS_FATAL ANY)
      execute_process(COMMAND \"${CMAKE_OBJCOPY}\" --strip-unneeded \"--add-gnu-debuglink=\${symbols}/${target}.debug\" \"\${program}\"
                      COMMAND_ERROR_IS_FATAL ANY)
    endif()" COMPONENT program)
endfunction()

install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION share/doc/athanor COMPONENT pages PATTERN spec EXCLUDE)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/NOTICE
        DESTINATION share/doc/athanor COMPONENT pages)

# `make package`: a .deb and a tar archive with everything that `cmake --install` installs.
set(CPACK_GENERATOR "DEB;TGZ")
set(CPACK_PACKAGE_NAME athanor)
set(CPACK_PACKAGE_VENDOR "The Athanor authors")
set(CPACK_PACKAGE_CONTACT "The Athanor authors <athanor@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "shares scarce accelerators on Kubernetes: jobs, queues, groups, GPU slices, NUMA zones")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_MONOLITHIC_INSTALL ON)
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS tzdata)  # time zones of CronJobs and expressions
include(CPack)
