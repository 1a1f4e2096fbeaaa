# Third-party libraries, all from Debian 12, as imported targets.
find_package(Threads REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(CURL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(SQLite3 REQUIRED)
if(ATHANOR_TESTS)
  find_package(GTest REQUIRED)
endif()
find_package(PkgConfig REQUIRED)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
pkg_check_modules(PQ REQUIRED IMPORTED_TARGET libpq)
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
# What executables that run for long, or are measured, link: the allocator.
add_library(athanor_allocator INTERFACE)
if(ATHANOR_TCMALLOC)
  # The library alone: its development package brings profilers and unwinders.
  find_library(TCMALLOC_LIBRARY NAMES libtcmalloc_minimal.so.4 REQUIRED)
  target_link_libraries(athanor_allocator INTERFACE ${TCMALLOC_LIBRARY})
endif()

if(ATHANOR_PCH)
  # One header set for product code, one for tests; every file compiles without them, too.
  file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp "")
  add_library(athanor_pch_std STATIC ${CMAKE_BINARY_DIR}/pch.cpp)
  target_precompile_headers(athanor_pch_std PRIVATE
    <algorithm> <array> <chrono> <compare> <cstdint> <functional> <map> <memory> <mutex> <optional>
    <set> <span> <string> <string_view> <unordered_map> <utility> <variant> <vector>)
  if(ATHANOR_TESTS)
    add_library(athanor_pch_test STATIC ${CMAKE_BINARY_DIR}/pch.cpp)
    target_link_libraries(athanor_pch_test PUBLIC GTest::gmock)
    # Built as the executables that use it are.
    set_target_properties(athanor_pch_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(athanor_pch_test PRIVATE -fPIE)
    target_precompile_headers(athanor_pch_test PRIVATE
      <algorithm> <array> <chrono> <compare> <cstdint> <functional> <map> <memory> <mutex> <optional>
      <set> <span> <string> <string_view> <utility> <variant> <vector> <gtest/gtest.h> <gmock/gmock.h>)
  endif()
endif()
