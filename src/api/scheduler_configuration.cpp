// SPDX-License-Identifier: Apache-2.0
#include "api/scheduler_configuration.hpp"

#include <utility>

namespace athanor {

Value scheduler_configuration(const SchedulerConfigurationOptions& options) {
  const bool https = options.url.starts_with("https://");
  Value extender = Value::object({{"urlPrefix", options.url + kExtenderPath},
                                  {"filterVerb", "filter"},
                                  {"prioritizeVerb", "prioritize"},
                                  {"bindVerb", "bind"},
                                  {"preemptVerb", "preempt"},
                                  {"weight", 1},
                                  {"enableHTTPS", https},
                                  {"httpTimeout", "5s"},
                                  {"nodeCacheCapable", true},
                                  {"ignorable", false}});
  if (https && !options.ca_file.empty()) {
    extender.set("tlsConfig", Value::object({{"caFile", options.ca_file}}));
  } else if (https) {
    extender.set("tlsConfig", Value::object({{"insecure", true}}));
  }
  if (!options.resources.empty()) {
    Value managed = Value::list();
    for (const std::string& name : options.resources) {
      managed.push_back(Value::object({{"name", name}, {"ignoredByScheduler", false}}));
    }
    extender.set("managedResources", std::move(managed));
  }
  // A Lease of its own: the cluster's default scheduler holds the one that is the default.
  const Value election = Value::object({{"leaderElect", true},
                                        {"resourceName", options.lease},
                                        {"resourceNamespace", options.lease_namespace}});
  Value profiles = Value::list();
  for (const std::string& name : options.profiles) {
    profiles.push_back(Value::object({{"schedulerName", name}}));
  }
  return Value::object({{"apiVersion", "kubescheduler.config.k8s.io/v1"},
                        {"kind", "KubeSchedulerConfiguration"},
                        {"leaderElection", election},
                        {"profiles", std::move(profiles)},
                        {"extenders", Value::list({std::move(extender)})}});
}

}  // namespace athanor
