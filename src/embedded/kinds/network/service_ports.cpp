// SPDX-License-Identifier: Apache-2.0
#include "embedded/kinds/network/service_ports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "embedded/kinds/network/service_rules.hpp"
#include "kube/names/field_error.hpp"

namespace athanor::apiserver {
namespace {

constexpr std::int64_t kFirstNodePort = 30000;
constexpr std::int64_t kLastNodePort = 32767;
constexpr std::string_view kHealthCheck = "healthCheckNodePort";

std::int64_t number_of(const Value& port) {
  return port["nodePort"].as_int();
}

std::set<std::int64_t> numbers_of(const Value& spec) {
  std::set<std::int64_t> numbers;
  for (const Value& port : spec["ports"].items()) {
    if (number_of(port) != 0) {
      numbers.insert(number_of(port));
    }
  }
  return numbers;
}

// Whether its ports get allocated numbers.
bool allocates(const Value& spec) {
  const std::string_view type = spec["type"].as_string();
  return type == "NodePort" ||
         (type == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"].as_bool(true));
}

class NodePorts {
 public:
  NodePorts(Value& service, std::set<std::int64_t> taken, Entropy& entropy)
      : service_(service),
        taken_(std::move(taken)),
        entropy_(entropy),
        asked_(numbers_of(service["spec"])) {}

  // Ports of the same number, as of two protocols, share the node port.
  StatusResult<void> create() {
    const Value ports = service_["spec"]["ports"];
    std::map<std::int64_t, std::int64_t> given;  // by port
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const std::int64_t number = number_of(ports[i]);
      std::int64_t& known = given[ports[i]["port"].as_int()];
      if (number == 0 && !allocates(service_["spec"])) {
        continue;
      }
      if (known == 0) {
        known = asked_for(ports, ports[i]["port"]);
        if (known != 0) {
          ATHANOR_TRY_VOID(take(known, i));
        } else {
          ATHANOR_TRY(known, take_any());
        }
        set(i, known);
      } else if (number == 0) {
        set(i, known);
      } else if (number != known) {
        ATHANOR_TRY_VOID(take(number, i));
      }
    }
    return needs_health_check(service_["spec"]) ? take_health_check() : StatusResult<void>();
  }

  StatusResult<void> update(const Value& old_spec) {
    const std::set<std::int64_t> before = numbers_of(old_spec);
    if (allocates(old_spec) && allocates(service_["spec"])) {
      keep_by_name(old_spec, before);
    }
    const Value ports = service_["spec"]["ports"];
    std::set<std::pair<std::string, std::int64_t>> used;
    std::set<std::int64_t> free = before;  // for this service
    for (std::size_t i = 0; i < ports.size(); ++i) {
      std::int64_t number = number_of(ports[i]);
      if (number == 0 && !allocates(service_["spec"])) {
        continue;
      }
      if (number == 0) {
        asked_.insert(before.begin(), before.end());
        ATHANOR_TRY(number, take_any());
        set(i, number);
      } else if (!free.contains(number)) {
        ATHANOR_TRY_VOID(take(number, i));
        free.insert(number);
      }
      const std::string protocol = ports[i]["protocol"].str();
      if (!used.emplace(protocol, number).second) {
        StatusError error;
        error.message = fmt::format("duplicate nodePort: {{{} {}}}", protocol, number);
        return error;
      }
    }
    if (!needs_health_check(service_["spec"])) {
      return {};
    }
    if (!needs_health_check(old_spec)) {
      return take_health_check();
    }
    if (service_["spec"][kHealthCheck].as_int() == 0) {
      service_.member("spec").set(kHealthCheck, old_spec[kHealthCheck]);
    }
    return {};
  }

 private:
  void set(std::size_t index, std::int64_t number) {
    service_.member("spec").member("ports").item(index).set("nodePort", number);
  }

  // Requested numbers, for any port of that number.
  static std::int64_t asked_for(const Value& ports, const Value& port) {
    for (const Value& other : ports.items()) {
      if (other["port"] == port && number_of(other) != 0) {
        return number_of(other);
      }
    }
    return 0;
  }

  // A port that says nothing keeps what one of its name had, unless another port asks for it.
  void keep_by_name(const Value& old_spec, const std::set<std::int64_t>& before) {
    std::map<std::string, std::int64_t> names;
    for (const Value& old : old_spec["ports"].items()) {
      names[old["name"].str()] = number_of(old);
    }
    const Value ports = service_["spec"]["ports"];
    for (std::size_t i = 0; i < ports.size(); ++i) {
      const auto kept = names.find(ports[i]["name"].str());
      if (number_of(ports[i]) == 0 && kept != names.end() && kept->second != 0 &&
          !(before.contains(kept->second) && asked_.contains(kept->second))) {
        set(i, kept->second);
      }
    }
  }

  // Why that number cannot be allocated; else it is taken.
  std::string_view refusal(std::int64_t number) {
    if (number < kFirstNodePort || number > kLastNodePort) {
      return "provided port is not in the valid range. The range of valid ports is 30000-32767";
    }
    return taken_.insert(number).second ? "" : "provided port is already allocated";
  }

  StatusResult<void> take(std::int64_t number, std::size_t index) {
    if (const std::string_view why = refusal(number); !why.empty()) {
      return status::invalid(
          {"Service", ""}, service_["metadata"]["name"].as_string(),
          {FieldError::invalid(fmt::format("spec.ports[{}].nodePort", index), number, why)});
    }
    return {};
  }

  StatusResult<void> take_health_check() {
    if (const std::int64_t number = service_["spec"][kHealthCheck].as_int(); number != 0) {
      const std::string_view why = refusal(number);
      return why.empty()
                 ? StatusResult<void>()
                 : status::internal(fmt::format(
                       "failed to allocate requested HealthCheck NodePort {}: {}", number, why));
    }
    ATHANOR_TRY(const std::int64_t number, take_any());
    service_.member("spec").set(kHealthCheck, number);
    return {};
  }

  StatusResult<std::int64_t> take_any() {
    constexpr auto kCount = static_cast<std::uint64_t>(kLastNodePort - kFirstNodePort + 1);
    const std::uint64_t start = entropy_.next() % kCount;
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const std::int64_t number = kFirstNodePort + static_cast<std::int64_t>((start + i) % kCount);
      if (!taken_.contains(number) && !asked_.contains(number)) {
        taken_.insert(number);
        return number;
      }
    }
    return status::internal("failed to allocate a nodePort: range is full");
  }

  Value& service_;
  std::set<std::int64_t> taken_;
  Entropy& entropy_;
  std::set<std::int64_t> asked_;  // by this service; not allocated unasked
};

}  // namespace

StatusResult<void> allocate_node_ports(Value& service, const Value& old_spec,
                                       std::set<std::int64_t> taken, Entropy& entropy) {
  NodePorts ports(service, std::move(taken), entropy);
  return old_spec.is_null() ? ports.create() : ports.update(old_spec);
}

}  // namespace athanor::apiserver
