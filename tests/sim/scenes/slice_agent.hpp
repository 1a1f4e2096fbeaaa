// SPDX-License-Identifier: Apache-2.0
// One agent of a simulated GPU node, which may die at each of its steps.
#pragma once

#include <set>
#include <span>

#include "sim/scenes/slice_agents.hpp"
#include "sim/scenes/slice_node.hpp"
#include "systems/das/agent/allocate.hpp"
#include "systems/das/agent/exchange.hpp"
#include "systems/das/agent/ledger.hpp"
#include "systems/das/agent/start_up.hpp"

namespace athanor::sim {

// One agent and its node. Every public function is a question of the kubelet or of the engine.
class SliceAgents::Agent final : public das::AllocateWorld {
 public:
  Agent(SliceAgents& all, SliceNode& mine) : node(mine), all_(all) {}

  // Lets the agent act; it starts first if it is down. Unavailable: it died, and all controllers
  // with it; or alone, where that may be.
  enum class Dies : std::uint8_t { WithAll, AlsoAlone };
  template <class Act>
  Result<Value> enter(World& world, const Act& act, Dies dies = Dies::WithAll) {
    world_ = &world;
    try {
      if (!alive_) {
        recover();
      }
      return act();
    } catch (const Died& died) {
      die();
      if (dies == Dies::AlsoAlone && died.amount % 2 == 1) {
        start_soon();
      } else {
        world.crash();
      }
      return Error::unavailable("the agent died");
    }
  }
  // It starts again by itself.
  void start_soon() {
    world_->after(std::chrono::seconds(1), [all = all_.shared_from_this(), this](World& now) {
      static_cast<void>(enter(now, [] { return Result<Value>(Value()); }));
    });
  }
  void die() {
    alive_ = false;
    ledger_ = {};
  }

  Value published();
  Value offered();
  Result<Value> tidy();
  Result<Value> release(const das::Claim& claim);
  Result<Value> allocate(const Object& pod);

  // ---- what Allocate acts on
  das::NodeSight look() override;
  Result<std::optional<Object>> find_pod(const das::Claim& claim) override;
  void wait(Duration /*time*/) override {}  // what it sees is never late
  Result<void> write_state(std::span<const das::Claim> claims, std::string_view state) override;
  Result<std::vector<std::string>> make_slices(std::span<const das::Claim> claims) override;
  void destroy_slices(std::span<const das::Claim> claims) override {
    for (const das::Claim& claim : claims) {
      destroy(claim);
    }
  }
  std::string slice_of(const das::Claim& claim) override {
    const das::SliceRecord record = node.record_of(claim.object.uid());
    return record.leaving ? std::string() : record.device;
  }
  Result<void> write_file(const das::CdiSpec& spec) override {
    step();
    node.files[spec.file_name()] = das::print_cdi(spec, "/var/run/cdi");
    step();
    return {};
  }
  void remove_file(const das::CdiSpec& spec) override {
    step();
    node.files.erase(spec.file_name());
  }
  std::optional<std::vector<das::Holder>> holders() override;
  Result<void> give(const das::Transfer& transfer) override;
  Result<void> keep_exchange(const std::string& text) override {
    step();
    node.exchange = text;
    step();
    return {};
  }
  std::string kept_exchange() override { return node.exchange; }

  SliceNode& node;

 private:
  struct Died {
    std::uint64_t amount = 0;
  };

  void step() {
    if (const auto amount = world_->strike(Fault::AgentCrash)) {
      throw Died{*amount};
    }
  }
  void compare_soon();
  struct Target {
    Key key{};
    std::string uid{};
  };
  Result<void> write(const Target& claim, Value merge, std::string_view subresource);
  void recover();
  void forget_ended();
  void destroy(const das::Claim& claim);
  void destroy(const das::SliceRecord& record);
  Result<std::string> make(const das::Claim& claim);
  [[nodiscard]] das::Findings findings();

  SliceAgents& all_;
  World* world_ = nullptr;  // of the call under way
  bool alive_ = false;
  das::Ledger ledger_{};
};

}  // namespace athanor::sim
