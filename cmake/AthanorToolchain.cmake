# Language, warnings, ccache and linker: the same for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# -pthread everywhere: some libraries bring it, and a precompiled header must be built as it is used.
add_compile_options(-pthread -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety> $<$<BOOL:${ATHANOR_WERROR}>:-Werror>
                    -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)

find_program(ATHANOR_CCACHE ccache)
if(ATHANOR_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${ATHANOR_CCACHE})
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<BOOL:${ATHANOR_PCH}>:-fpch-preprocess>)
  find_program(ATHANOR_MOLD mold)
  if(ATHANOR_MOLD)
    add_link_options(-fuse-ld=mold)
  endif()
else()
  add_compile_options($<$<BOOL:${ATHANOR_PCH}>:-Xclang$<SEMICOLON>-fno-pch-timestamp>)
  find_program(ATHANOR_LLD ld.lld-16)
  if(ATHANOR_LLD)
    add_link_options(-fuse-ld=lld-16)
  endif()
endif()

# Thin archives name their objects instead of copying them: 1.5 GB less in a debug build. Nothing installs a library.
set(CMAKE_CXX_ARCHIVE_CREATE "<CMAKE_AR> qcT <TARGET> <LINK_FLAGS> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "<CMAKE_AR> qT <TARGET> <LINK_FLAGS> <OBJECTS>")
