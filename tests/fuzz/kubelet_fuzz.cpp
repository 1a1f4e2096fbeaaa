// SPDX-License-Identifier: Apache-2.0
// gRPC messages of a kubelet as bytes, through the agent's sockets: the first byte says to which
// method, or that the kubelet answers so. Each is answered; the agent hears of nothing senseless,
// and goes on serving.
#include <cstdio>
#include <string>

#include "fake_kubelet/node_sockets.hpp"
#include "fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static athanor::fake_kubelet::NodeSockets node;
  static int inputs = 0;
  const std::string text(athanor::fuzz::text_of(data, size));
  if (text.empty()) {
    return 0;
  }
  std::string flaw = node.send(text.front(), text.substr(1));
  constexpr int kOften = 16;
  if (flaw.empty() && ++inputs % kOften == 1) {
    flaw = node.still_serves();
  }
  if (!flaw.empty()) {
    static_cast<void>(std::fprintf(stderr, "%s\n", flaw.c_str()));
  }
  ATHANOR_CHECK(flaw.empty(), "damaged messages harm no right ones");
  return 0;
}
