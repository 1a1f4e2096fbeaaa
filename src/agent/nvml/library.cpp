// SPDX-License-Identifier: Apache-2.0
#include "agent/nvml/library.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "systems/das/model/names.hpp"

namespace athanor::agent::nvml {
namespace {

const char* reason_of(Return code) {
  switch (code) {
    case NotFound:
      return "NotFound";
    case InUse:
      return "InUse";
    case InsufficientResources:
      return das::kInsufficientResources;
    case GpuIsLost:
      return "GpuIsLost";
    default:
      return "NvmlError";
  }
}

template <class Function>
bool find(void* handle, const char* name, Function*& function) {
  static_assert(sizeof(void*) == sizeof(function));
  function = std::bit_cast<Function*>(::dlsym(handle, name));
  return function != nullptr;
}

}  // namespace

Error error_of(const Calls& calls, Return code, const std::string& prefix) {
  constexpr std::size_t kMostWords = 200;
  const char* words = calls.error_string != nullptr ? calls.error_string(code) : nullptr;
  std::string text = words != nullptr ? std::string(words, ::strnlen(words, kMostWords))
                                      : fmt::format("NVML error {}", static_cast<int>(code));
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return {
      .code = code == NotFound ? 404 : 500, .reason = reason_of(code), .message = prefix + text};
}

Result<std::unique_ptr<Library>> Library::load(const std::string& path) {
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  std::unique_ptr<Library> library(new Library());
  ATHANOR_TRY_VOID(library->open(path));
  return library;
}

Result<void> Library::open(const std::string& path) {
  handle_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): of this thread's last call
    const char* why = ::dlerror();
    return Error::unavailable(
        fmt::format("NVML cannot be loaded: {}", why != nullptr ? why : path));
  }
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto*& function) {
    if (!find(handle_, name, function) && missing == nullptr) {
      missing = name;
    }
  };
  const auto may = [&](const char* name, auto*& function) { find(handle_, name, function); };
  need("nvmlInit_v2", calls_.init);
  need("nvmlShutdown", calls_.shutdown);
  need("nvmlErrorString", calls_.error_string);
  need("nvmlDeviceGetCount_v2", calls_.device_count);
  need("nvmlDeviceGetHandleByIndex_v2", calls_.device_by_index);
  need("nvmlDeviceGetHandleByUUID", calls_.device_by_uuid);
  need("nvmlDeviceGetUUID", calls_.device_uuid);
  need("nvmlDeviceGetName", calls_.device_name);
  need("nvmlDeviceGetMemoryInfo", calls_.memory_info);
  need("nvmlDeviceGetMigMode", calls_.mig_mode);
  need("nvmlDeviceGetGpuInstanceProfileInfo", calls_.gi_profile);
  if (!find(handle_, "nvmlDeviceGetGpuInstancePossiblePlacements_v2", calls_.gi_placements)) {
    need("nvmlDeviceGetGpuInstancePossiblePlacements", calls_.gi_placements);
  }
  need("nvmlDeviceCreateGpuInstanceWithPlacement", calls_.create_gi);
  need("nvmlDeviceGetGpuInstances", calls_.list_gi);
  need("nvmlDeviceGetGpuInstanceById", calls_.gi_by_id);
  need("nvmlGpuInstanceGetInfo", calls_.gi_info);
  need("nvmlGpuInstanceDestroy", calls_.destroy_gi);
  need("nvmlGpuInstanceGetComputeInstanceProfileInfo", calls_.ci_profile);
  need("nvmlGpuInstanceCreateComputeInstance", calls_.create_ci);
  need("nvmlGpuInstanceGetComputeInstances", calls_.list_ci);
  need("nvmlGpuInstanceGetComputeInstanceById", calls_.ci_by_id);
  need("nvmlComputeInstanceGetInfo_v2", calls_.ci_info);
  need("nvmlComputeInstanceDestroy", calls_.destroy_ci);
  need("nvmlDeviceGetMaxMigDeviceCount", calls_.mig_count);
  need("nvmlDeviceGetMigDeviceHandleByIndex", calls_.mig_by_index);
  need("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", calls_.mig_parent);
  need("nvmlDeviceGetGpuInstanceId", calls_.mig_gi_id);
  need("nvmlDeviceGetComputeInstanceId", calls_.mig_ci_id);
  may("nvmlDeviceGetPciInfo_v3", calls_.pci_info);
  may("nvmlDeviceGetMemoryAffinity", calls_.memory_affinity);
  may("nvmlEventSetCreate", calls_.event_set_create);
  may("nvmlDeviceRegisterEvents", calls_.register_events);
  may("nvmlEventSetWait_v2", calls_.event_wait);
  may("nvmlEventSetFree", calls_.event_set_free);
  if (missing != nullptr) {
    return Error::unavailable(fmt::format("{} lacks {}", path, missing));
  }
  if (const Return code = calls_.init(); code != Success) {
    return error_of(calls_, code, "nvmlInit: ");
  }
  started_ = true;
  return {};
}

Library::~Library() {
  if (started_) {
    calls_.shutdown();
  }
  if (handle_ != nullptr) {
    ::dlclose(handle_);
  }
}

}  // namespace athanor::agent::nvml
