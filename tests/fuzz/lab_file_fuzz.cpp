// SPDX-License-Identifier: Apache-2.0
// Lab files: every problem names the file and a line.
#include "embedded/lab/file/lab_file.hpp"
#include "fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  const auto lab = lab::parse_lab(fuzz::text_of(data, size), "lab.yaml");
  ATHANOR_CHECK(lab.ok() || lab.error().message.starts_with("lab.yaml:"), "problems name the file");
  return 0;
}
