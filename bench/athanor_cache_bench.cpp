// SPDX-License-Identifier: Apache-2.0
// What cached objects cost: lists N objects of 1 KiB through a reflector into an engine with one
// controller that looks at each, and prints "name value unit" lines.
// usage: athanor_cache_bench [N [SLOTS [random]]]
#include <fmt/core.h>
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/digest.hpp"
#include "client/reflector.hpp"
#include "kube/text/json.hpp"
#include "kube/value/interner.hpp"
#include "runtime/engine/engine.hpp"

namespace athanor::bench {
namespace {

constexpr std::size_t kChunk = 500;
constexpr std::size_t kObjectBytes = 1024;
constexpr Kind kKind{.group = "bench.dev", .version = "v1", .name = "Job", .plural = "jobs"};

// Resident memory of this process, in MiB.
double resident_mib() {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    if (word == "VmRSS:") {
      double kib = 0;
      file >> kib;
      return kib / 1024;
    }
  }
  return 0;
}

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// A job as a controller sees it: its own names and versions, the rest much like its neighbours'.
std::string object_text(std::size_t number, bool random) {
  std::string text = fmt::format(
      R"({{"metadata":{{"name":"job-{0:06}","namespace":"team-{1}","uid":"{0:08x}-52c1-4f1e-9d5a-{0:012x}",)"
      R"("resourceVersion":"{2}","generation":1,"creationTimestamp":"2026-11-20T10:{3:02}:{4:02}Z",)"
      R"("labels":{{"app":"bench","owner":"team-{1}","cluster":"cluster-{5}"}}}},)"
      R"("spec":{{"cluster":"cluster-{5}","hardware":{{"gpuType":"a100","gpuCount":{6}}},)"
      R"("forge":{{"project":"llmd","args":["run","--seed={0}"],"configOverrides":{{"batch_size":64}}}}}},)"
      R"("status":{{"phase":"Running","conditions":[{{"type":"Admitted","status":"True",)"
      R"("reason":"QuotaReserved","lastTransitionTime":"2026-11-20T10:{3:02}:{4:02}Z"}}]}},"padding":")",
      number, number % 50, 1000 + number, number / 60 % 60, number % 60, number % 20,
      1 + number % 8);
  const std::string digits = std::to_string(number * 2654435761U);
  std::mt19937_64 source(number);
  while (text.size() < kObjectBytes - 2) {
    // Of its own, so that nothing but structure is shared; `random`: nothing can compress it.
    text += random ? base64_encode(fmt::format("{:x}", source())) : digits;
  }
  text.resize(kObjectBytes - 2);
  return text + "\"}";
}

std::string list_text(std::size_t from, std::size_t count, bool last, bool random) {
  std::string text = R"({"metadata":{"resourceVersion":"2000000")";
  text += last ? "},\"items\":[" : R"(,"continue":"more"},"items":[)";
  for (std::size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "" : ",") + object_text(from + i, random);
  }
  return text + "]}";
}

const Kind* const kKinds[] = {&kKind};

// Looks and does nothing.
Plan look(const View& view, const Key& key, Instant /*now*/) {
  static_cast<void>(view.get(kKind, key));
  return Plan::done();
}

constexpr Operator kLooker{.name = "looker", .primary = &kKind, .reads = kKinds, .reconcile = look};

void hand_over(std::vector<client::Reflector::Effect>& effects, runtime::Engine& engine) {
  for (auto& effect : effects) {
    if (auto* deliver = std::get_if<client::Reflector::Deliver>(&effect)) {
      auto& list = std::get<client::KindList>(deliver->item);
      engine.absorb(runtime::Relisted{.kind = &kKind,
                                      .objects = std::move(list.objects),
                                      .version = list.version,
                                      .first = list.first,
                                      .last = list.last},
                    Instant{});
    }
  }
}

int run(std::size_t count, std::size_t slots, bool random) {
  const std::unique_ptr<Entropy> entropy = seeded_entropy(1);
  auto interner = std::make_unique<Interner>(slots);
  client::ReflectorOptions options;
  options.interner = interner.get();
  client::Reflector reflector({.kind = &kKind, .trim = client::trim_fields()}, options, *entropy);
  const Operator* const operators[] = {&kLooker};
  runtime::Engine engine(operators, {.entropy = entropy.get(), .warm_objects = options.shared});
  const double before = resident_mib();
  const double start = processor_seconds();
  std::vector<client::Reflector::Effect> effects;
  reflector.feed(client::Reflector::Tick{}, Instant{}, effects);
  for (std::size_t done = 0; done < count; done += kChunk) {
    const std::size_t size = std::min(kChunk, count - done);
    auto body = json::parse(list_text(done, size, done + size == count, random));
    std::uint64_t id = 0;
    for (const auto& effect : effects) {
      if (const auto* request = std::get_if<client::Reflector::Request>(&effect)) {
        id = request->id;
      }
    }
    effects.clear();
    reflector.feed(client::Reflector::Answer{.id = id, .body = *std::move(body)}, Instant{},
                   effects);
    hand_over(effects, engine);
  }
  effects.clear();
  fmt::print("cache_growth {:.1f} MiB\n", resident_mib() - before);
  std::vector<runtime::Effect> decided;
  while (!engine.idle()) {
    engine.run(Instant{}, decided);
  }
  const double seconds = processor_seconds() - start;
  fmt::print("engine_growth {:.1f} MiB\n", resident_mib() - before);
  fmt::print("process_total {:.1f} MiB\n", resident_mib());
  ::malloc_trim(0);
  fmt::print("after_trim {:.1f} MiB\n", resident_mib());
  std::size_t heap = 0;
  std::size_t cached = 0;
  const double looked = processor_seconds();
  for (std::size_t i = 0; i < count; ++i) {
    if (i % kChunk == 0) {
      engine.run(Instant{}, decided);  // lets go of what was looked at
    }
    const Object* object =
        engine.cached(kKind, {fmt::format("team-{}", i % 50), fmt::format("job-{:06}", i)});
    cached += object == nullptr ? 0 : 1;
    heap += object == nullptr ? 0 : object->body().heap_bytes();
  }
  fmt::print("cached {} objects\n", cached);
  fmt::print("read {:.2f} us\n", (processor_seconds() - looked) * 1e6 / static_cast<double>(count));
  fmt::print("values_unshared {:.1f} MiB\n", static_cast<double>(heap) / 1048576);
  fmt::print("list_to_cache {:.2f} s of processor time\n", seconds);
  return cached == count ? 0 : 1;
}

}  // namespace
}  // namespace athanor::bench

// NOLINTNEXTLINE(bugprone-exception-escape): out of memory ends it
int main(int argc, char** argv) {
  const std::size_t count = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100'000;
  const std::size_t slots = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : std::size_t{1} << 16;
  return athanor::bench::run(count, slots, argc > 3);
}
