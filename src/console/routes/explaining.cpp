// SPDX-License-Identifier: Apache-2.0
#include "console/routes/explaining.hpp"

#include <string>
#include <string_view>

#include "api/kueue.hpp"
#include "console/data/cluster_rows.hpp"
#include "embedded/kueue/verb.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::console {
namespace {

// Returns the job that owns a Workload; nullptr: another object does, or it is unknown.
const Object* job_of_owner(const Facts& facts, std::string_view ns, std::string_view owner) {
  constexpr std::string_view kJob = "FournosJob/";
  return owner.starts_with(kJob)
             ? facts.find(api::kFournosJob,
                          {std::string(ns), std::string(owner.substr(kJob.size()))})
             : nullptr;
}

// Adds the person behind each job that holds quota.
void add_people(const Facts& facts, Value& value) {
  for (std::size_t i = 0; i < value["quotas"].size(); ++i) {
    for (std::size_t k = 0; k < value["quotas"][i]["holders"].size(); ++k) {
      const Value holder = value["quotas"][i]["holders"][k];
      const std::string workload = holder["workload"].str();
      const Object* job =
          job_of_owner(facts, workload.substr(0, workload.find('/')), holder["owner"].as_string());
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
  const auto tables = exchange.services.board.tables();
  Value value = why.to_value();
  value.set("text", why.text(exchange.now()));
  add_people(*tables->facts, value);
  if (const Object* job = job_of_owner(*tables->facts, why.workload.ns, why.owner)) {
    std::string cluster = job->status()["cluster"].str();
    cluster = cluster.empty() ? job->spec()["cluster"].str() : cluster;
    if (Value lock = lock_of(*tables->facts, tables->surroundings, cluster); lock.is_object()) {
      value.set("lock", std::move(lock));
    }
  }
  return value;
}

}  // namespace athanor::console
