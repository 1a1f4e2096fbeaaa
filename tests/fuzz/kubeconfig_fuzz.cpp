// SPDX-License-Identifier: Apache-2.0
// Kubeconfigs as YAML, read as the operator's own (files that they name are looked for in an empty
// folder) and as those that somebody else handed in.
#include "client/cluster_config.hpp"
#include "fuzz/fuzz.hpp"
#include "kube/text/kubeconfig.hpp"
#include "kube/text/yaml.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  if (const auto document = yaml::parse(fuzz::text_of(data, size)); document.ok()) {
    (void)client::cluster_config_of(*document, "", "/nonexistent");
    (void)client::cluster_config_of(*document, "a", "/nonexistent");
    (void)read_kubeconfig(*document);
    (void)read_kubeconfig(*document, {.allow_programs = true});
  }
  return 0;
}
