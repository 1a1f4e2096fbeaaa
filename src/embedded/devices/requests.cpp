// SPDX-License-Identifier: Apache-2.0
#include "embedded/devices/requests.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace athanor::devices {
namespace {

void add_expressions(const Value& selectors, std::vector<std::string>& into) {
  for (const Value& selector : selectors.items()) {
    into.push_back(selector["cel"]["expression"].str());
  }
}

Result<DeviceRequest> read_request(const Value& body, std::string name, std::string parent,
                                   const Classes& classes) {
  const std::string wanted = body["deviceClassName"].str();
  const auto device_class = classes.find(wanted);
  if (device_class == classes.end()) {
    return Error::not_found(
        fmt::format("request {}: device class {} does not exist", name, wanted));
  }
  DeviceRequest request{.name = std::move(name),
                        .parent = std::move(parent),
                        .all = body["allocationMode"].as_string() == "All",
                        .count = body["count"].as_int(1),
                        .admin = body["adminAccess"].as_bool(),
                        .tolerations = body["tolerations"],
                        .capacity = body["capacity"]["requests"],
                        .class_config = device_class->second.spec()["config"]};
  add_expressions(device_class->second.spec()["selectors"], request.expressions);
  add_expressions(body["selectors"], request.expressions);
  return request;
}

}  // namespace

bool DeviceConstraint::covers(const DeviceRequest& request) const {
  return requests.empty() || std::ranges::any_of(requests, [&](const std::string& name) {
           return name == request.name || name == request.parent;
         });
}

Result<ClaimRequests> read_requests(const Value& spec, const Classes& classes) {
  ClaimRequests read{.config = spec["devices"]["config"]};
  for (const Value& request : spec["devices"]["requests"].items()) {
    const std::string name = request["name"].str();
    RequestChoice choice;
    if (const Value& exactly = request["exactly"]; exactly.is_object()) {
      ATHANOR_TRY(DeviceRequest one, read_request(exactly, name, name, classes));
      choice.push_back(std::move(one));
    }
    for (const Value& sub : request["firstAvailable"].items()) {
      ATHANOR_TRY(DeviceRequest one,
                  read_request(sub, name + "/" + sub["name"].str(), name, classes));
      choice.push_back(std::move(one));
    }
    read.choices.push_back(std::move(choice));
  }
  for (const Value& constraint : spec["devices"]["constraints"].items()) {
    DeviceConstraint one;
    for (const Value& name : constraint["requests"].items()) {
      one.requests.push_back(name.str());
    }
    one.distinct = constraint["matchAttribute"].is_null();
    one.attribute = constraint[one.distinct ? "distinctAttribute" : "matchAttribute"].str();
    read.constraints.push_back(std::move(one));
  }
  return read;
}

}  // namespace athanor::devices
