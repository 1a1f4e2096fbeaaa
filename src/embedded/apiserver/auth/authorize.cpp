// SPDX-License-Identifier: Apache-2.0
// May this user do that: AlwaysAllow (spec/apiserver.md 16.2).
#include "embedded/apiserver/authorize.hpp"

namespace athanor::apiserver {
namespace {

class AlwaysAllow final : public Authorizer {
 public:
  [[nodiscard]] Decision authorize(const Attributes& /*attributes*/) const override {
    return {.allowed = true, .reason = ""};
  }
};

}  // namespace

std::unique_ptr<Authorizer> make_authorizer(const Options& /*options*/,
                                            const Dependencies& /*dependencies*/) {
  return std::make_unique<AlwaysAllow>();
}

}  // namespace athanor::apiserver
