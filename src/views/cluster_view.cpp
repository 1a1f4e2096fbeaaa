// SPDX-License-Identifier: Apache-2.0
#include "views/cluster_view.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "kube/text/quantity.hpp"
#include "kube/value/condition.hpp"
#include "systems/hearth/kinds/fournos_cluster.hpp"
#include "views/reasons.hpp"
#include "views/texts.hpp"

namespace athanor::views {
namespace {

// In full: parts of a unit count, too.
Quantity amount_of(const Value& written) {
  return Quantity::parse(written).value_or(Quantity());
}

struct Share {
  Quantity quota{};
  Quantity used{};
};

// Adds what one queue says of the flavor; false: it does not name it.
bool add_shares(const Object& queue, std::string_view cluster, std::map<std::string, Share>& sum) {
  bool named = false;
  for (const Value& group : queue.spec()["resourceGroups"].items()) {
    for (const Value& flavor : group["flavors"].items()) {
      if (flavor["name"].as_string() == cluster) {
        named = true;
        for (const Value& resource : flavor["resources"].items()) {
          sum[resource["name"].str()].quota += amount_of(resource["nominalQuota"]);
        }
      }
    }
  }
  for (const Value& flavor : queue.status()["flavorsUsage"].items()) {
    if (named && flavor["name"].as_string() == cluster) {
      for (const Value& resource : flavor["resources"].items()) {
        sum[resource["name"].str()].used += amount_of(resource["total"]);
      }
    }
  }
  return named;
}

// As Hearth writes models: "A100".
std::string capitals(std::string text) {
  for (char& c : text) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return text;
}

std::string shown(std::string text) {
  return text.empty() ? std::string("-") : std::move(text);
}

}  // namespace

ClusterUse cluster_use(const std::vector<Object>& cluster_queues, std::string_view cluster) {
  ClusterUse use;
  std::map<std::string, Share> shares;
  for (const Object& queue : cluster_queues) {
    if (add_shares(queue, cluster, shares)) {
      use.queues += (use.queues.empty() ? "" : ",") + std::string(queue.name());
    }
  }
  std::int64_t most = -1;
  for (const auto& [resource, share] : shares) {
    if (share.quota > Quantity()) {
      most = std::max(
          most, static_cast<std::int64_t>(100.0 * static_cast<double>(share.used.milli_value()) /
                                          static_cast<double>(share.quota.milli_value())));
    }
    if (share.quota > Quantity() || share.used > Quantity()) {
      use.details += fmt::format("{}{} {}/{}", use.details.empty() ? "" : ", ",
                                 short_resource(resource), share.used.text(), share.quota.text());
    }
  }
  for (const auto& [resource, share] : shares) {
    if (share.quota > Quantity() && resource.starts_with(kGpuPrefix)) {
      use.gpus += fmt::format("{}{}x {}", use.gpus.empty() ? "" : ", ", share.quota.text(),
                              capitals(short_resource(resource)));
    }
  }
  if (most >= 0) {
    use.utilisation = fmt::format("{}%", most);
  }
  return use;
}

std::vector<std::string> cluster_header(bool wide) {
  std::vector<std::string> header{"NAME",   "OWNER", "GPUS",       "KUBECONFIG",
                                  "LOCKED", "QUEUE", "UTILISATION"};
  if (wide) {
    for (const char* column :
         {"IN USE", "LOCK JOB", "TTL", "LOCK EXPIRES", "LOCK STATE", "NODES", "VERSION"}) {
      header.emplace_back(column);
    }
  }
  header.emplace_back("AGE");
  return header;
}

std::vector<std::string> cluster_row(const Object& cluster, const ClusterUse& use, bool wide,
                                     Instant now) {
  const Value& spec = cluster.spec();
  const Value& status = cluster.status();
  std::string state = status["kubeconfigStatus"].str();
  if (cluster.deleting()) {
    state = "Leaving";
  } else if (api::is_cordoned(api::read<api::FournosCluster>(cluster))) {
    state += state.empty() ? "Cordoned" : ",Cordoned";
  }
  std::vector<std::string> row{std::string(cluster.name()),
                               shown(spec["owner"].str()),
                               shown(status["gpuSummary"].str()),
                               shown(std::move(state)),
                               status["locked"].as_bool() ? "true" : "false",
                               shown(use.queues),
                               shown(use.utilisation)};
  if (wide) {
    row.push_back(shown(use.details));
    row.push_back(shown(status["lockJobName"].str()));
    row.push_back(shown(spec["ttl"].str()));
    row.push_back(shown(status["lockExpiresAt"].str()));
    row.push_back(shown(status["lockState"].str()));
    row.push_back(status.contains("nodeCount") ? fmt::format("{}", status["nodeCount"].as_int())
                                               : "-");
    row.push_back(shown(status["serverVersion"].str()));
  }
  const auto created = cluster.creation_time();
  row.push_back(created ? format_age(now - *created) : "<unknown>");
  return row;
}

bool is_cluster_flavor(const Object& flavor) {
  return flavor.spec()["nodeLabels"]["fournos.dev/cluster"].as_string() == flavor.name();
}

std::vector<std::string> bare_row(const Object& flavor, const ClusterUse& use, bool wide,
                                  Instant now) {
  std::vector<std::string> row(cluster_header(wide).size(), "-");
  row[0] = std::string(flavor.name());
  row[2] = shown(use.gpus);
  row[5] = shown(use.queues);
  row[6] = shown(use.utilisation);
  if (wide) {
    row[7] = shown(use.details);
  }
  const auto created = flavor.creation_time();
  row.back() = created ? format_age(now - *created) : "<unknown>";
  return row;
}

const std::vector<std::string>& cluster_phases() {
  static const std::vector<std::string> kPhases{"Valid",       "Missing", "Invalid",
                                                "Unreachable", "Leaving", "Cordoned"};
  return kPhases;
}

Traits cluster_traits(const Object& cluster) {
  Traits traits{.phase = cluster.status()["kubeconfigStatus"].str(),
                .owner = cluster.spec()["owner"].str()};
  if (cluster.deleting()) {
    traits.phase = "Leaving";
  } else if (api::is_cordoned(api::read<api::FournosCluster>(cluster))) {
    traits.phase = "Cordoned";
  }
  return traits;
}

Listing cluster_listing(const std::vector<Object>& clusters, const std::vector<Object>& bare,
                        const std::vector<Object>& cluster_queues, bool wide, Instant now) {
  Listing listing{.titles = cluster_header(wide)};
  for (const Object& cluster : clusters) {
    listing.rows.push_back(
        {.object = cluster,
         .cells = cluster_row(cluster, cluster_use(cluster_queues, cluster.name()), wide, now),
         .traits = cluster_traits(cluster)});
  }
  for (const Object& flavor : bare) {
    listing.rows.push_back(
        {.object = flavor,
         .cells = bare_row(flavor, cluster_use(cluster_queues, flavor.name()), wide, now),
         .traits = {}});
  }
  return listing;
}

std::string unmanaged_text(std::string_view cluster, std::string_view ns) {
  return fmt::format(
      "{} is in the queue alone: no FournosCluster in namespace {} has its name, so there is "
      "nothing to lock, cordon, check or remove. A job takes it whole with --cluster {} "
      "--exclusive",
      cluster, ns, cluster);
}

std::vector<std::size_t> cluster_widths(bool wide) {
  std::vector<std::size_t> widths{20, 10, 18, 14, 6, 14, 11};
  if (wide) {
    widths.insert(widths.end(), {26, 26, 5, 20, 10, 5, 10});
  }
  widths.push_back(0);
  return widths;
}

std::string usable_state(const Object& cluster) {
  std::string state = cluster.status()["kubeconfigStatus"].str();
  if (state != "Valid") {
    return state;
  }
  for (const char* type : {"GPUDiscovered", "KueueSynced"}) {
    const Value& condition = find_condition(cluster.status()["conditions"], type);
    if (condition["status"].as_string() == "False") {
      return condition["reason"].str();
    }
  }
  return api::is_cordoned(api::read<api::FournosCluster>(cluster)) ? "Cordoned" : state;
}

std::vector<std::string> cluster_troubles(const Object& cluster) {
  std::vector<std::string> lines;
  for (const char* type : {"KubeconfigValid", "GPUDiscovered", "KueueSynced", "Offboarding"}) {
    const Value& conditions = cluster.status()["conditions"];
    for (const Value& condition : conditions.items()) {
      const bool leaving = std::string_view(type) == "Offboarding";
      if (condition["type"].as_string() == type &&
          (leaving || condition["status"].as_string() != "True")) {
        const std::string message = condition["message"].str();
        lines.push_back(fmt::format("{}: {}{}{}", type, condition["reason"].as_string(),
                                    message.empty() ? "" : ": ", message));
      }
    }
  }
  return lines;
}

bool is_lock_time(std::string_view text) {
  const std::string_view digits = text.substr(0, text.empty() ? 0 : text.size() - 1);
  return !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos &&
         std::string_view("mhd").find(text.back()) != std::string_view::npos;
}

}  // namespace athanor::views
