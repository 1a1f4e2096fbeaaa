// SPDX-License-Identifier: Apache-2.0
#include "console/routes/explaining.hpp"

#include <string>
#include <string_view>

#include "api/kueue.hpp"
#include "embedded/kueue/verb.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::console {
namespace {

// Adds the person behind each job that holds quota.
void add_people(const Facts& facts, Value& value) {
  constexpr std::string_view kJob = "FournosJob/";
  for (std::size_t i = 0; i < value["quotas"].size(); ++i) {
    for (std::size_t k = 0; k < value["quotas"][i]["holders"].size(); ++k) {
      const Value holder = value["quotas"][i]["holders"][k];
      const std::string owner = holder["owner"].str();
      const std::string workload = holder["workload"].str();
      const Object* job =
          owner.starts_with(kJob)
              ? facts.find(api::kFournosJob,
                           {workload.substr(0, workload.find('/')), owner.substr(kJob.size())})
              : nullptr;
      if (job != nullptr && !job->spec()["owner"].as_string().empty()) {
        value.member("quotas").item(i).member("holders").item(k).set("person",
                                                                     job->spec()["owner"]);
      }
    }
  }
}

}  // namespace

Result<kueue::Explanation> explain_for_viewer(Exchange& exchange, CachedContext& context,
                                              const Key& key) {
  const Visible visible = visible_namespaces(exchange, api::kueue::kWorkload);
  return kueue::explain_named(context, key,
                              {.sees = [&](std::string_view ns) { return visible.shows(ns); }});
}

Value explanation_value(Exchange& exchange, const kueue::Explanation& why) {
  Value value = why.to_value();
  value.set("text", why.text(exchange.now()));
  add_people(*exchange.services.world.facts(), value);
  return value;
}

}  // namespace athanor::console
