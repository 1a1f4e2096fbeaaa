// SPDX-License-Identifier: Apache-2.0
#include "console/stream/tables.hpp"

#include <algorithm>
#include <set>

#include "console/data/accelerator_rows.hpp"
#include "console/data/appwrapper_rows.hpp"
#include "console/data/cluster_rows.hpp"
#include "console/data/queue_rows.hpp"
#include "console/data/schedule_rows.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"

namespace athanor::console {
namespace {

Rows items_of(const Value& list) {
  return {list.items().begin(), list.items().end()};
}

Rows job_table(const Tables& tables, const Settings& settings) {
  Rows rows;
  std::set<std::string, std::less<>> live;
  for (const Object& job : tables.facts->all(api::kFournosJob)) {
    if (settings.shows(job.ns())) {
      live.emplace(job.uid());
      rows.push_back(job_row(job, tables.surroundings));
    }
  }
  if (tables.archived) {
    for (const Value& row : *tables.archived) {
      if (!live.contains(row["uid"].as_string())) {
        rows.push_back(row);
      }
    }
  }
  return rows;
}

}  // namespace

const Rows& Tables::list(std::string_view topic) const {
  static const Rows kNone;
  const auto found = lists.find(topic);
  return found == lists.end() ? kNone : found->second;
}

bool is_topic(std::string_view name) {
  return std::ranges::find(kRowTopics, name) != std::end(kRowTopics) ||
         std::ranges::find(kHintTopics, name) != std::end(kHintTopics);
}

std::shared_ptr<const Tables> make_tables(std::shared_ptr<const Facts> facts,
                                          std::shared_ptr<const Rows> archived,
                                          const Settings& settings, Instant now) {
  auto tables = std::make_shared<Tables>();
  tables->facts = std::move(facts);
  tables->archived = std::move(archived);
  const Facts& known = *tables->facts;
  tables->version = known.version();
  tables->surroundings = job_surroundings(known);
  const JobSurroundings& around = tables->surroundings;
  auto& lists = tables->lists;
  lists["jobs"] = job_table(*tables, settings);
  lists["workloads"] = workload_rows(known, around);
  lists["clusters"] = cluster_rows(known, around);
  lists["locks"] = lock_rows(known, around);
  lists["appwrappers"] = appwrapper_rows(known);
  lists["nodes"] = node_rows(known);
  lists["schedules"] = schedule_rows(known, settings, lists["jobs"], now);
  tables->slices = slice_map(known);
  lists["mig"] = items_of(tables->slices["nodes"]);
  tables->zones = zone_map(known);
  lists["numa"] = items_of(zones_at(tables->zones, now)["nodes"]);
  tables->queue = queue_page(known, around);
  return tables;
}

std::string row_key(const Value& row) {
  const Value& name = row.contains("name") ? row["name"] : row["node"];
  std::string key = row["ns"].str() + "/" + name.str();
  return row["archived"].as_bool() ? key + "/" + row["uid"].str() : key;
}

}  // namespace athanor::console
