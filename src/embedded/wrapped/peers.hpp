// SPDX-License-Identifier: Apache-2.0
// Headless Services and environment variables by which members of a gang find each other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "embedded/wrapped/members.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/plan.hpp"
#include "runtime/view/view.hpp"

namespace athanor::wrapped {

// A Service without an address of its own: its name resolves to the pods it selects.
struct Headless {
  std::string name{};
  Labels selector{};
  bool publish_not_ready = true;  // members resolve before they are ready
  std::string port_name{};
  std::int64_t port = 0;  // 0: none, as for names alone
};
// Returns the Service, with the selector as its labels.
Member headless_service(const Object& owner, const Headless& wanted);

// Creates the Service where no Service has its name. One of another owner serves as well, as with
// JobSet and LeaderWorkerSet upstream.
void offer_service(const View& view, const Object& owner, const Member& service, Plan& plan);

using Variables = std::vector<std::pair<std::string_view, std::string>>;
// Where variables go in each list of `env`: a variable may name only those before it.
enum class Place : std::uint8_t { First, Last };
// Sets variables in all containers of a pod's spec, and in its init containers where they come
// first; they replace those of the same names.
void set_variables(Value& pod_spec, const Variables& variables, Place place);

}  // namespace athanor::wrapped
