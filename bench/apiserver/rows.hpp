// SPDX-License-Identifier: Apache-2.0
// The workloads of docs/spec/apiserver.md 20, in phases between which scripts/bench-apiserver looks
// at the server's memory and disk. Every row is printed as one line of JSON.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "apiserver/http2_client.hpp"
#include "base/result.hpp"

namespace athanor::bench {

struct Sizes {
  std::size_t objects = 10'000;  // after the writes
  std::size_t requests = 3000;   // of an ordinary row
  std::size_t filled = 50'000;
  std::size_t fan_out_seconds = 10;
};
inline constexpr Sizes kQuick{
    .objects = 2000, .requests = 600, .filled = 10'000, .fan_out_seconds = 3};

// One of phases(); a phase needs what those before it left.
Result<void> run_phase(std::string_view phase, const Server& server, const Sizes& sizes);
std::string phases();

}  // namespace athanor::bench
