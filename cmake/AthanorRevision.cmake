# SPDX-License-Identifier: Apache-2.0
# athanor_revision(VARIABLE): the commit of the source, as of this configuration: $ATHANOR_REVISION (an image's build has no repository),
# else git's HEAD, else "unknown". Release builds configure again when HEAD moves; others keep the commit: a new one relinks everything.
function(athanor_revision variable)
  set(revision "$ENV{ATHANOR_REVISION}")
  if(revision STREQUAL "")
    execute_process(COMMAND git rev-parse HEAD WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                    OUTPUT_VARIABLE revision OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    if(failed)
      set(revision unknown)
    elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
      execute_process(COMMAND git rev-parse --git-path logs/HEAD WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
                      OUTPUT_VARIABLE log OUTPUT_STRIP_TRAILING_WHITESPACE)
      get_filename_component(log "${log}" ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
      if(EXISTS "${log}")
        set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${log}")
      endif()
    endif()
  endif()
  set(${variable} "${revision}" PARENT_SCOPE)
endfunction()
