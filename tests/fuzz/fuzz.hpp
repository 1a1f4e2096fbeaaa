// SPDX-License-Identifier: Apache-2.0
// What every fuzz target is made of: one function over bytes. libFuzzer calls it with inputs of its
// own (make fuzz); corpus_main.cpp calls it with the files of the corpus, as a test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace athanor::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes are read as text
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace athanor::fuzz
