// SPDX-License-Identifier: Apache-2.0
// Kubeconfigs as YAML; files that they name are looked for in an empty folder.
#include "client/kubeconfig.hpp"
#include "fuzz/fuzz.hpp"
#include "kube/yaml.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  if (const auto document = yaml::parse(fuzz::text_of(data, size)); document.ok()) {
    (void)client::endpoint_of(*document, "", "/nonexistent");
    (void)client::endpoint_of(*document, "a", "/nonexistent");
  }
  return 0;
}
