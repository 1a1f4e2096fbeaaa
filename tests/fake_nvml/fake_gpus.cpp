// SPDX-License-Identifier: Apache-2.0
#include "fake_nvml/fake_gpus.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "kube/text/json.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/slices/slots.hpp"

namespace athanor::fake_nvml {
namespace {

using agent::nvml::Return;

std::string variable(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

Value read_json(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto parsed = json::parse(text);
  return parsed.ok() ? *std::move(parsed) : Value::object();
}

// Compute slices of a compute-instance profile; 0: no such profile.
int slices_of(unsigned int profile) {
  switch (profile) {
    case 0:
    case 7:
      return 1;
    case 1:
      return 2;
    case 2:
      return 3;
    case 3:
      return 4;
    case 4:
      return 7;
    case 5:
      return 8;
    case 6:
      return 6;
    default:
      return 0;
  }
}

// Drivers number instances by their places: the next one there has the same number and UUID.
int id_at(int gpu, const das::MigTable& table, const das::MigProfile& profile, int start) {
  constexpr int kFirst = 256;  // tests number instances of other programs themselves
  constexpr int kOfAGpu = 64;
  int id = kFirst + gpu * kOfAGpu;
  for (const das::MigProfile& one : table.profiles) {
    for (const int at : one.starts) {
      if (one.name == profile.name && at == start) {
        return id;
      }
      ++id;
    }
  }
  return id;
}

}  // namespace

const das::MigProfile* Gpu::profile(unsigned int gi_profile) const {
  const auto& profiles = model->table.profiles;
  const auto found =
      std::ranges::find(profiles, static_cast<int>(gi_profile), &das::MigProfile::gi_profile);
  return found == profiles.end() ? nullptr : &*found;
}

const das::MigProfile* Gpu::by_id(unsigned int id) const {
  for (const das::MigProfile& one : model->table.profiles) {
    if (id_of(one) == id) {
      return &one;
    }
  }
  return nullptr;
}

unsigned int Gpu::id_of(const das::MigProfile& profile) const {
  return static_cast<unsigned int>(profile.smi_id);
}

Value Control::read() const {
  return path_.empty() ? Value::object() : read_json(path_);
}

std::optional<Return> Control::count(std::string_view call) {
  const Value now = read();
  if (now != counted_) {
    counted_ = now;
    calls_ = 0;
  }
  const Value& only = now["only"];
  if (!now["at"].is_integer() || (only.is_string() && only.as_string() != call)) {
    return std::nullopt;
  }
  const std::int64_t at = now["at"].as_int();
  if (++calls_ < at || (calls_ > at && !now["on"].as_bool())) {
    return std::nullopt;
  }
  if (now["kill"].as_bool()) {
    ::raise(SIGKILL);
  }
  return static_cast<Return>(now["code"].as_int(agent::nvml::Unknown));
}

Gpus::Gpus()
    : state_(variable("FAKE_NVML_STATE", "")), control_(variable("FAKE_NVML_CONTROL", "")) {
  std::string wanted = variable("FAKE_NVML_GPUS", "A100-PCIE-40GB:2");
  while (!wanted.empty()) {
    const std::size_t comma = std::min(wanted.find(','), wanted.size());
    std::string one = wanted.substr(0, comma);
    wanted.erase(0, comma + 1);
    int count = 1;
    if (const std::size_t colon = one.find(':'); colon != std::string::npos) {
      std::from_chars(one.data() + colon + 1, one.data() + one.size(), count);
      one.resize(colon);
    }
    for (int i = 0; i < count && das::find_model(one) != nullptr; ++i) {
      gpus_.push_back({.model = das::find_model(one),
                       .uuid = "GPU-" + das::uuid_of(fmt::format("fake/{}", gpus_.size()))});
    }
  }
  order_ = control_.read()["order"];
  load();
}

int Gpus::at_index(unsigned int index) const {
  if (index >= gpus_.size()) {
    return -1;
  }
  const auto usual = static_cast<std::int64_t>(index);
  const std::int64_t gpu = order_[static_cast<std::size_t>(index)].as_int(usual);
  return static_cast<int>(gpu >= 0 && gpu < std::ssize(gpus_) ? gpu : usual);
}

void Gpus::load() {
  if (state_.empty()) {
    return;
  }
  const Value stored = read_json(state_);
  instances_.clear();
  for (const Value& one : stored["instances"].items()) {
    Instance instance{.gpu = static_cast<int>(one["gpu"].as_int()),
                      .id = static_cast<int>(one["id"].as_int()),
                      .profile = one["profile"].str(),
                      .start = static_cast<int>(one["start"].as_int()),
                      .size = static_cast<int>(one["size"].as_int())};
    for (const Value& compute : one["computes"].items()) {
      instance.computes.push_back(
          {.id = static_cast<int>(compute["id"].as_int()),
           .profile = static_cast<unsigned int>(compute["profile"].as_int()),
           .uuid = compute["uuid"].str()});
    }
    instances_.push_back(std::move(instance));
  }
}

std::vector<Instance>& Gpus::instances() {
  load();
  return instances_;
}

void Gpus::save() const {
  if (state_.empty()) {
    return;
  }
  Value list = Value::list();
  for (const Instance& one : instances_) {
    Value computes = Value::list();
    for (const Compute& compute : one.computes) {
      computes.push_back(Value::object(
          {{"id", compute.id}, {"profile", compute.profile}, {"uuid", compute.uuid}}));
    }
    list.push_back(Value::object({{"gpu", one.gpu},
                                  {"id", one.id},
                                  {"profile", one.profile},
                                  {"start", one.start},
                                  {"size", one.size},
                                  {"computes", std::move(computes)}}));
  }
  const std::string temporary = state_ + ".tmp";
  std::ofstream(temporary, std::ios::binary)
      << json::print(Value::object({{"instances", std::move(list)}})) << "\n";
  static_cast<void>(std::rename(temporary.c_str(), state_.c_str()));
}

Instance* Gpus::find(int id) {
  auto& all = instances();
  const auto found = std::ranges::find(all, id, &Instance::id);
  return found == all.end() ? nullptr : &*found;
}

Return Gpus::create(int gpu, unsigned int id, const agent::nvml::Placement& place, int& made) {
  const Gpu& on = gpus_[static_cast<std::size_t>(gpu)];
  const das::MigProfile* profile = on.by_id(id);
  if (profile == nullptr) {
    return agent::nvml::InvalidArgument;
  }
  std::vector<das::Slice> slices;
  for (const Instance& one : instances()) {
    if (one.gpu == gpu) {
      slices.push_back({.profile = on.model->table.find(one.profile), .start = one.start});
    }
  }
  slices.push_back(
      {.profile = on.model->table.find(profile->name), .start = static_cast<int>(place.start)});
  if (static_cast<int>(place.size) != profile->size) {
    return agent::nvml::InvalidArgument;
  }
  if (!das::is_legal(on.model->table, slices)) {
    return agent::nvml::InsufficientResources;
  }
  made = id_at(gpu, on.model->table, *profile, static_cast<int>(place.start));
  instances_.push_back({.gpu = gpu,
                        .id = made,
                        .profile = profile->name,
                        .start = static_cast<int>(place.start),
                        .size = profile->size});
  save();
  return agent::nvml::Success;
}

Return Gpus::destroy(int id) {
  Instance* instance = find(id);
  if (instance == nullptr) {
    return agent::nvml::NotFound;
  }
  if (!instance->computes.empty()) {
    return agent::nvml::InUse;
  }
  std::erase_if(instances_, [&](const Instance& one) { return one.id == id; });
  save();
  return agent::nvml::Success;
}

Return Gpus::create_compute(int id, unsigned int profile, int& made) {
  Instance* instance = find(id);
  if (instance == nullptr) {
    return agent::nvml::NotFound;
  }
  const das::MigTable& table = gpus_[static_cast<std::size_t>(instance->gpu)].model->table;
  const int whole = table.profiles[static_cast<std::size_t>(table.find(instance->profile))].compute;
  int used = 0;
  for (const Compute& compute : instance->computes) {
    used += slices_of(compute.profile);
  }
  if (slices_of(profile) == 0) {
    return agent::nvml::InvalidArgument;
  }
  if (used + slices_of(profile) > whole) {
    return agent::nvml::InsufficientResources;
  }
  made = static_cast<int>(instance->computes.size());
  instance->computes.push_back(
      {.id = made,
       .profile = profile,
       .uuid = "MIG-" + das::uuid_of(fmt::format("fake/{}/{}/{}", instance->gpu, id, made))});
  save();
  return agent::nvml::Success;
}

Return Gpus::destroy_compute(int id, int compute) {
  Instance* instance = find(id);
  if (instance == nullptr) {
    return agent::nvml::NotFound;
  }
  const auto found = std::ranges::find(instance->computes, compute, &Compute::id);
  if (found == instance->computes.end()) {
    return agent::nvml::NotFound;
  }
  const Value told = control_.read();
  for (const Value& busy : told["inUse"].items()) {
    if (busy.as_string() == found->uuid || busy.as_string() == "*") {
      return agent::nvml::InUse;
    }
  }
  instance->computes.erase(found);
  save();
  return agent::nvml::Success;
}

}  // namespace athanor::fake_nvml
