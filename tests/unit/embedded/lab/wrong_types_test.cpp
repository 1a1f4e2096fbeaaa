// SPDX-License-Identifier: Apache-2.0
// Values of the wrong type at every place of every kind: each request is answered, none ends the
// server (docs/spec/apiserver.md 22). Objects and places come from the schemas; admission is the
// lab's.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "embedded/apiserver/core/server.hpp"
#include "embedded/bridge/in_process_webhooks.hpp"
#include "embedded/kinds/resource_info.hpp"
#include "embedded/lab/installer.hpp"
#include "embedded/store/store.hpp"
#include "kube/text/json.hpp"
#include "product/list.hpp"

namespace athanor::lab::wrong_types_test {
namespace {

using apiserver::ResourceInfo;

class FixedClock final : public Clock {
 public:
  [[nodiscard]] Instant now() const override { return *parse_time("2026-11-20T10:00:00Z"); }
};

// A step into a list or an object.
using Step = std::variant<std::size_t, std::string>;
using Place = std::vector<Step>;

// What the handler below prints when the program dies.
std::string& under_way() {
  static std::string text;
  return text;
}

void tell(int signal) {
  static_cast<void>(!write(STDERR_FILENO, under_way().data(), under_way().size()));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// How many kinds have a named type (PodSpec, LabelSelector) in them.
using Uses = std::map<std::string, int, std::less<>>;

// A well-typed value with every field set. Of a named type the first use alone is filled in, and
// that in the first kinds alone: the others go through the same functions.
class Sample {
 public:
  explicit Sample(Uses& uses) : uses_(uses) {}

  Value of(const Schema& schema, int depth) {
    if (!schema.enum_values.empty()) {
      return schema.enum_values.front();
    }
    switch (schema.type) {
      case SchemaType::String:
        return schema.format == "date-time" ? Value("2026-11-20T10:20:35Z") : Value("s");
      case SchemaType::Boolean:
        return true;
      case SchemaType::Integer:
      case SchemaType::Duration:
        return 3;
      case SchemaType::Number:
        return 1.5;
      case SchemaType::Bytes:
        return "AP8=";
      case SchemaType::Quantity:
        return "2";
      case SchemaType::Time:
        return "2026-11-20T10:20:35Z";
      case SchemaType::MicroTime:
        return "2026-11-20T10:20:35.123456Z";
      case SchemaType::IntOrString:
        return 8080;
      case SchemaType::RawExtension:
      case SchemaType::Fields:
        return Value::object({{"x", Value::object()}});
      case SchemaType::Any:
        return schema.any_of.empty() || depth == 0 ? Value::object({{"y", Value::list({"z"})}})
                                                   : of(*schema.any_of.front(), depth - 1);
      case SchemaType::List:
        return Value::list({of(*schema.items, depth)});
      case SchemaType::Object:
        return object(schema, depth);
    }
    return {};
  }

 private:
  Value object(const Schema& schema, int depth) {
    Value made = Value::object();
    if (schema.additional != nullptr) {
      made.set("key", of(*schema.additional, depth));
    }
    if (depth == 0 || !is_new(schema.name)) {
      return made;
    }
    for (const SchemaField& field : schema.fields) {
      made.set(field.name, field.enum_values.empty() ? of(*field.schema, depth - 1)
                                                     : Value(field.enum_values.front()));
    }
    return made;
  }

  bool is_new(const std::string& name) {
    constexpr int kKinds = 3;
    return name.empty() || (seen_.insert(name).second && ++uses_[name] <= kKinds);
  }

  Uses& uses_;
  std::set<std::string> seen_{};
};

void collect(const Value& value, Place& place, std::vector<Place>& places) {
  places.push_back(place);
  for (std::size_t i = 0; i < value.items().size(); ++i) {
    place.emplace_back(i);
    collect(value.items()[i], place, places);
    place.pop_back();
  }
  for (const Member& member : value.members()) {
    place.emplace_back(std::string(member.key()));
    collect(member.value, place, places);
    place.pop_back();
  }
}

Value replaced(const Value& value, const Place& place, const Value& with, std::size_t from = 0) {
  if (from == place.size()) {
    return with;
  }
  Value copy = value;
  if (const auto* index = std::get_if<std::size_t>(&place[from])) {
    copy.item(*index) = replaced(value[*index], place, with, from + 1);
  } else {
    const auto& name = std::get<std::string>(place[from]);
    copy.set(name, replaced(value[name], place, with, from + 1));
  }
  return copy;
}

std::string text_of(const Place& place) {
  std::string text;
  for (const Step& step : place) {
    text += std::holds_alternative<std::string>(step)
                ? "." + std::get<std::string>(step)
                : fmt::format("[{}]", std::get<std::size_t>(step));
  }
  return text;
}

class WrongTypes : public ::testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGABRT, tell);
    std::signal(SIGSEGV, tell);
    auto opened = store::Store::open(store::memory_journal(),
                                     {.event_window = 100, .event_minimum = 10, .intern = false});
    ASSERT_TRUE(opened.ok());
    store_ = *std::move(opened);
    apiserver::Dependencies dependencies;
    dependencies.store = store_.get();
    dependencies.clock = &clock_;
    dependencies.entropy = entropy_.get();
    dependencies.converter = bridge::system_converters(all_systems());
    dependencies.admission = [] { return bridge::webhook_steps({.systems = all_systems()}); };
    apiserver::Options options;
    options.always_allow = true;
    options.default_roles = false;
    auto server = apiserver::Server::create(std::move(options), std::move(dependencies));
    ASSERT_TRUE(server.ok());
    server_ = *std::move(server);
    Installer installer(*server_, clock_);
    for (const api::CustomKind* kind : kinds_of(all_systems())) {
      const auto installed = installer.apply(api::crd_manifest(*kind), {});
      ASSERT_TRUE(installed.ok()) << installed.error().message;
    }
    const auto made = send("POST", "/api/v1/namespaces",
                           Value::object({{"metadata", Value::object({{"name", "tst"}})}}));
    ASSERT_EQ(made.status, 201);
  }
  void TearDown() override {
    std::signal(SIGABRT, SIG_DFL);
    std::signal(SIGSEGV, SIG_DFL);
  }

  net::Response send(std::string method, std::string path, Value body) {
    net::Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.headers.emplace("content-type", "application/json");
    if (!body.is_null()) {
      request.body = std::move(body);
    }
    request.credentials.certificate = {
        .common_name = "admin", .organizations = {"system:masters"}, .sha256_hex = "ab"};
    return server_->handle(std::move(request), clock_.now());
  }

  static std::string collection(const ResourceInfo& resource) {
    const std::string base =
        resource.group.empty() ? "/api/" + resource.version : "/apis/" + resource.api_version();
    return base + (resource.namespaced ? "/namespaces/tst/" : "/") + resource.plural;
  }

  // A whole object of the kind, and where wrong values go. Metadata is the same for all kinds.
  Value sample(const ResourceInfo& resource) {
    constexpr int kDepth = 9;
    Value object = Sample(uses_).of(*resource.schema, kDepth);
    Value metadata = Value::object({{"name", "seed"},
                                    {"labels", Value::object({{"a", "b"}})},
                                    {"annotations", Value::object({{"c", "d"}})},
                                    {"finalizers", Value::list({"e.f/g"})}});
    if (resource.namespaced) {
      metadata.set("namespace", "tst");
    }
    object.set("metadata", std::move(metadata));
    object.set("kind", resource.kind);
    object.set("apiVersion", resource.api_version());
    return object;
  }

  static std::vector<Place> places_of(const Value& object, bool with_metadata) {
    std::vector<Place> all;
    Place start;
    collect(object, start, all);
    std::erase_if(all, [with_metadata](const Place& place) {
      return !with_metadata && place.size() > 1 && std::get<std::string>(place[0]) == "metadata";
    });
    return all;
  }

  // Puts the object into the store as it is, whatever the rules of its kind say.
  void seed(const ResourceInfo& resource, const Value& object) {
    Value stored = object;
    stored.member("metadata").set("uid", "u-1");
    stored.member("metadata").set("creationTimestamp", "2026-11-20T09:00:00Z");
    const store::Write write{.resource = resource.storage,
                             .key = {resource.namespaced ? "tst" : "", "seed"},
                             .body = std::move(stored),
                             .expected = std::nullopt};
    ASSERT_TRUE(store_->commit({&write, 1}, clock_.now()).ok());
  }
  void unseed(const ResourceInfo& resource) {
    const Key key{resource.namespaced ? "tst" : "", "seed"};
    if (store_->get(resource.storage, key) != nullptr) {
      const store::Write write{
          .resource = resource.storage, .key = key, .body = std::nullopt, .expected = std::nullopt};
      static_cast<void>(store_->commit({&write, 1}, clock_.now()));
    }
  }

  void expect_answer(const std::string& method, const std::string& path, const Value& body,
                     const std::string& what) {
    under_way() = fmt::format("the request under way: {} {} with {}\n", method, path, what);
    const net::Response response = send(method, path, body);
    ++requests_;
    EXPECT_GE(response.status, 200) << under_way();
    EXPECT_LT(response.status, 500)
        << under_way() << response.body << (response.value ? json::print(*response.value) : "");
    last_status_ = response.status;
  }

  FixedClock clock_{};
  std::unique_ptr<Entropy> entropy_ = seeded_entropy(7);
  std::unique_ptr<store::Store> store_{};
  std::unique_ptr<apiserver::Server> server_{};
  Uses uses_{};
  std::size_t requests_ = 0;
  int last_status_ = 0;
};

const std::array<Value, 6>& wrong_values() {
  static const std::array<Value, 6> kValues = {
      Value("x"), Value(-3), Value(true), Value::list({Value()}), Value::object({{"a", Value()}}),
      Value()};
  return kValues;
}

bool writable(const ResourceInfo& resource) {
  return resource.schema != nullptr && resource.stored && resource.has_verb("create") &&
         resource.has_verb("update");
}

TEST_F(WrongTypes, AreAnsweredOnCreate) {
  const auto table = server_->registry().table();
  for (const auto& resource : table->all()) {
    if (resource->schema == nullptr || !resource->has_verb("create")) {
      continue;
    }
    const bool with_metadata = resource->plural == "configmaps" || resource->plural == "taskruns";
    const Value object = sample(*resource);
    for (const Place& place : places_of(object, with_metadata)) {
      for (const Value& wrong : wrong_values()) {
        expect_answer("POST", collection(*resource), replaced(object, place, wrong),
                      text_of(place) + " = " + json::print(wrong));
        if (last_status_ < 300) {
          unseed(*resource);
        }
      }
    }
  }
  EXPECT_GT(requests_, 10'000U);
  RecordProperty("requests", static_cast<int>(requests_));
}

TEST_F(WrongTypes, AreAnsweredOnUpdate) {
  const auto table = server_->registry().table();
  for (const auto& resource : table->all()) {
    const ResourceInfo* stored = table->by_storage(resource->storage);
    if (!writable(*resource) || stored == nullptr || stored->schema == nullptr) {
      continue;
    }
    const bool with_metadata = resource->plural == "configmaps" || resource->plural == "taskruns";
    const Value kept = sample(*stored);
    seed(*stored, kept);
    const std::string path = collection(*resource) + "/seed";
    const net::Response shown = send("GET", path, {});
    ASSERT_TRUE(shown.value && shown.status < 500) << path;
    Value object = shown.status == 200 ? *shown.value : sample(*resource);
    std::size_t turn = 0;  // every other wrong value: what decoding does with them is tried above
    for (const Place& place : places_of(object, with_metadata)) {
      ++turn;
      const bool status = !place.empty() && std::holds_alternative<std::string>(place[0]) &&
                          std::get<std::string>(place[0]) == "status" && resource->has_status();
      for (std::size_t i = turn % 2; i < wrong_values().size(); i += 2) {
        const Value& wrong = wrong_values()[i];
        expect_answer("PUT", status ? path + "/status" : path, replaced(object, place, wrong),
                      text_of(place) + " = " + json::print(wrong));
        if (last_status_ < 300) {
          seed(*stored, kept);
          object.member("metadata").erase("resourceVersion");
          if (const auto now =
                  store_->get(stored->storage, {stored->namespaced ? "tst" : "", "seed"})) {
            object.member("metadata").set("resourceVersion", std::to_string(now->revision));
          }
        }
      }
    }
    unseed(*stored);
  }
  EXPECT_GT(requests_, 10'000U);
}

}  // namespace
}  // namespace athanor::lab::wrong_types_test
