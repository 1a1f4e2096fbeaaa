// SPDX-License-Identifier: Apache-2.0
// Slots and room of GPUs, as `athanor slices` and the gauges show them, against placements that are
// tried one by one in random worlds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "kube/text/yaml.hpp"
#include "support/fake_world.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/instruments.hpp"
#include "systems/das/makers/emulation.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/verb/gpu_states.hpp"

namespace athanor::das::slots_account_test {
namespace {

constexpr int kWorlds = 40;
constexpr int kTries = 6;  // claims of a GPU that are tried

// One GPU as the test made it: which slots are taken, and how many instances of each profile.
struct Card {
  const MigTable* table = nullptr;
  std::vector<bool> taken{};
  std::map<std::string, int> instances{};
  bool healthy = true;

  [[nodiscard]] bool fits(const MigProfile& profile, int start) const {
    const auto made = instances.find(profile.name);
    if (made != instances.end() && made->second >= profile.most) {
      return false;
    }
    for (int slot = start; slot < start + profile.size; ++slot) {
      if (slot >= table->slots || taken[static_cast<std::size_t>(slot)]) {
        return false;
      }
    }
    return true;
  }
  void take(const MigProfile& profile, int start) {
    ++instances[profile.name];
    std::fill_n(taken.begin() + start, profile.size, true);
  }
  // The most further instances of one profile, over every order of places.
  [[nodiscard]] int room(const MigProfile& profile) const {
    int most = 0;
    for (const int start : profile.starts) {
      if (fits(profile, start)) {
        Card next = *this;
        next.take(profile, start);
        most = std::max(most, 1 + next.room(profile));
      }
    }
    return most;
  }
  [[nodiscard]] int free() const { return static_cast<int>(std::ranges::count(taken, false)); }
};

// Models whose profiles take no shared media engines: legal places alone decide.
std::vector<const GpuModel*> plain_models() {
  std::vector<const GpuModel*> models;
  for (const GpuModel& model : gpu_models()) {
    if (model.type == kNvidiaMig && !model.table.exclusive) {
      models.push_back(&model);
    }
  }
  return models;
}

class SlotsAccount : public ::testing::Test {
 protected:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  void make_node(const std::string& name, test::FakeWorld& world) {
    const std::vector<const GpuModel*> models = plain_models();
    const GpuModel& model =
        *models[static_cast<std::size_t>(below(static_cast<int>(models.size())))];
    const int gpus = 1 + below(3);
    Value resources = emulated_resources(name, {.model = &model, .count = gpus});
    Value list = resources["nodeGpus"];
    for (int gpu = 0; gpu < gpus; ++gpu) {
      Card card{.table = &model.table,
                .taken = std::vector<bool>(static_cast<std::size_t>(model.table.slots))};
      Value& written = list.item(static_cast<std::size_t>(gpu));
      if (below(4) == 0) {
        const int start = below(model.table.slots);
        std::fill_n(card.taken.begin() + start, 1, true);
        written.set("foreign", Value::list({Value::object({{"start", start}, {"size", 1}})}));
      }
      if (below(5) == 0) {
        card.healthy = false;
        written.set("health", "Unhealthy");
      }
      put_claims(name, gpu, card, world);
      cards_.emplace(std::pair(name, emulated_uuid(name, gpu)), card);
    }
    resources.set("nodeGpus", std::move(list));
    Value node = yaml::parse(
                     "{apiVersion: inference.redhat.com/v1alpha1, kind: NodeAccelerator, metadata: "
                     "{name: " +
                     name + ", namespace: das-operator}, spec: {}}")
                     .value();
    node.set_path({"status", "nodeResources"}, std::move(resources));
    nodes_.push_back(world.put(node));
  }

  void put_claims(const std::string& node, int gpu, Card& card, test::FakeWorld& world) {
    const auto& profiles = card.table->profiles;
    for (int i = 0; i < kTries; ++i) {
      const MigProfile& profile =
          profiles[static_cast<std::size_t>(below(static_cast<int>(profiles.size())))];
      const int start =
          profile.starts[static_cast<std::size_t>(below(static_cast<int>(profile.starts.size())))];
      if (!card.fits(profile, start)) {
        continue;
      }
      card.take(profile, start);
      claims_.push_back(world.put(
          yaml::parse("{apiVersion: inference.redhat.com/v1alpha1, kind: AllocationClaim, "
                      "metadata: {name: c" +
                      std::to_string(claims_.size()) +
                      ", namespace: das-operator}, spec: {profile: " + profile.name +
                      ", nodename: " + node + ", gpuUUID: " + emulated_uuid(node, gpu) +
                      ", migPlacement: {start: " + std::to_string(start) +
                      ", size: " + std::to_string(profile.size) +
                      "}, podRef: {name: p, namespace: ns, uid: u}}, status: {state: inUse}}")
              .value()));
    }
  }

  void check_states() {
    const GpuStates states = gpu_states(nodes_, claims_);
    EXPECT_EQ(states.gpus.size(), cards_.size());
    EXPECT_TRUE(states.lost.empty());
    for (const GpuState& state : states.gpus) {
      const Card& card = cards_.at({state.node, state.uuid});
      EXPECT_EQ(state.total, card.table->slots);
      EXPECT_EQ(state.free, card.healthy ? card.free() : 0);
      std::map<std::string, int> room;
      for (const MigProfile& profile : card.table->profiles) {
        if (const int more = card.healthy ? card.room(profile) : 0; more > 0) {
          room[profile.name] = more;
        }
      }
      EXPECT_EQ((std::map<std::string, int>(state.room.begin(), state.room.end())), room)
          << state.node << " " << state.index;
    }
  }

  void check_gauges(const test::FakeWorld& world) {
    Reads reads;
    Samples samples;
    das_instruments().state(View(world, reads), samples);
    std::map<std::tuple<std::string, std::string, std::string>, double> seen;
    for (const Sample& sample : samples) {
      std::string node;
      std::string other;
      for (const auto& [label, value] : sample.labels) {
        node = label == "node" ? value : node;
        other = label == "gpu" || label == "profile" ? value : other;
      }
      seen[{std::string(sample.metric), node, other}] = sample.value;
    }
    std::map<std::pair<std::string, std::string>, int> remaining;
    for (const auto& [key, card] : cards_) {
      const auto& [node, uuid] = key;
      int largest = 0;
      for (const MigProfile& profile : card.table->profiles) {
        const int more = card.healthy ? card.room(profile) : 0;
        remaining[{node, profile.name}] += more;
        largest = more > 0 ? std::max(largest, profile.size) : largest;
      }
      const int free = card.healthy ? card.free() : 0;
      EXPECT_EQ(seen.at({"das_slots_total", node, uuid}), card.table->slots);
      EXPECT_EQ(seen.at({"das_slots_free", node, uuid}), free);
      EXPECT_DOUBLE_EQ(seen.at({"das_fragmentation_ratio", node, uuid}),
                       free == 0 ? 0 : 1.0 - static_cast<double>(largest) / free);
    }
    for (const auto& [key, count] : remaining) {
      EXPECT_EQ(seen.at({"das_profile_capacity_remaining", key.first, key.second}), count)
          << key.first << " " << key.second;
    }
  }

  std::mt19937 random_{};
  std::vector<Object> nodes_{};
  std::vector<Object> claims_{};
  std::map<std::pair<std::string, std::string>, Card> cards_{};  // by node and UUID
};

TEST_F(SlotsAccount, EqualsPlacementsTriedOneByOne) {
  for (unsigned seed = 0; seed < kWorlds; ++seed) {
    SCOPED_TRACE(seed);
    random_.seed(seed);
    nodes_.clear();
    claims_.clear();
    cards_.clear();
    test::FakeWorld world;
    world.configure(kSettingsSection, api::encode(Settings()));
    make_node("n1", world);
    make_node("n2", world);
    check_states();
    check_gauges(world);
  }
}

}  // namespace
}  // namespace athanor::das::slots_account_test
