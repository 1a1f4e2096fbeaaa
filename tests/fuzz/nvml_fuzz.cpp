// SPDX-License-Identifier: Apache-2.0
// Answers of NVML, through the library that is loaded as NVIDIA's is: the first byte says whether
// the GPUs were known before, each other one how one answer is spoilt. What the driver finds stays
// in bounds, and right answers are believed afterwards.
#include <cstdio>

#include "fake_nvml/broken_driver.hpp"
#include "fuzz/fuzz.hpp"

// The library brings its own copy of what the driver links.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char* __asan_default_options() {
  return "detect_odr_violation=0";
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string flaw =
      athanor::fake_nvml::live_with(FAKE_NVML, athanor::fuzz::text_of(data, size));
  if (!flaw.empty()) {
    static_cast<void>(std::fprintf(stderr, "%s\n", flaw.c_str()));
  }
  ATHANOR_CHECK(flaw.empty(), "wrong answers of NVML go no further");
  return 0;
}
