// SPDX-License-Identifier: Apache-2.0
// Reading records, comparing decisions.
#include "runtime/journal/replay.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kube/apply/patch.hpp"
#include "runtime/journal/record.hpp"

namespace athanor::runtime {

namespace {

std::optional<Error> error_of(const Value& value) {
  if (!value.is_object()) {
    return std::nullopt;
  }
  return Error{.code = static_cast<int>(value["code"].as_int()),
               .reason = value["reason"].str(),
               .message = value["message"].str()};
}

Value without_id(const Value& decision) {
  Value rest = decision;
  rest.erase("id");
  return rest;
}

// The common part of two decisions about the same subject.
Value subject_of(const Value& decision) {
  Value subject = without_id(decision);
  subject.erase("body");
  subject.erase("args");
  return subject;
}

std::uint64_t id_of(const Value& value) {
  return static_cast<std::uint64_t>(value.as_int());
}

template <class Same>
std::size_t find(const std::vector<Value>& all, const std::vector<bool>& taken, Same same) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!taken[i] && same(all[i])) {
      return i;
    }
  }
  return all.size();
}

// Pairs of the recorded and the new: first those that are equal, then those about the same, in the
// record's order; then what is new.
std::vector<Decision> pairs(const std::vector<Value>& recorded, const std::vector<Value>& now) {
  std::vector<bool> taken(now.size());
  std::vector<std::size_t> partner(recorded.size(), now.size());
  for (const bool exact : {true, false}) {
    for (std::size_t i = 0; i < recorded.size(); ++i) {
      if (partner[i] != now.size()) {
        continue;
      }
      const Value wanted = exact ? without_id(recorded[i]) : subject_of(recorded[i]);
      partner[i] = find(now, taken, [&](const Value& one) {
        return (exact ? without_id(one) : subject_of(one)) == wanted;
      });
      if (partner[i] != now.size()) {
        taken[partner[i]] = true;
      }
    }
  }
  std::vector<Decision> decisions;
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    decisions.push_back(
        {.recorded = recorded[i], .now = partner[i] == now.size() ? Value() : now[partner[i]]});
  }
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (!taken[i]) {
      decisions.push_back({.now = now[i]});
    }
  }
  return decisions;
}

bool is_kind(const Kind& kind, const Value& recorded) {
  return kind.group == recorded["group"].as_string() &&
         kind.version == recorded["version"].as_string() &&
         kind.name == recorded["kind"].as_string();
}

// Where kinds were watched that the record gives places of their own.
Places places_of(const Value& kinds, std::span<const Operator* const> operators) {
  Places places;
  const auto take = [&](const Kind* kind, const Value& recorded) {
    if (kind == nullptr || !is_kind(*kind, recorded)) {
      return;
    }
    Place& place = places[kind];
    place.watched.clear();
    for (const Value& ns : recorded["namespaces"].items()) {
      place.watched.push_back(ns.str());
    }
  };
  for (const Value& recorded : kinds.items()) {
    if (!recorded["namespaces"].is_list()) {
      continue;
    }
    for (const Operator* op : operators) {
      take(op->primary, recorded);
      for (const Kind* kind : op->reads) {
        take(kind, recorded);
      }
    }
  }
  return places;
}

}  // namespace

bool Decision::differs() const {
  return recorded.is_null() || now.is_null() || without_id(recorded) != without_id(now);
}

Replay::~Replay() = default;

Result<std::unique_ptr<Replay>> Replay::open(const Value& head, const Find& find) {
  if (head["athanor-record"].as_int() != 1) {
    return Error::bad_request("not a record of version 1");
  }
  std::vector<const Operator*> operators;
  const Value& names = head["operators"];
  for (const Value& name : names.items()) {
    const Operator* op = find(name.as_string());
    if (op == nullptr) {
      return Error::not_found("this program has no controller " + name.str());
    }
    operators.push_back(op);
  }
  std::uint64_t seed = 0;
  const std::string_view text = head["seed"].as_string();
  std::from_chars(text.data(), text.data() + text.size(), seed);
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private
  std::unique_ptr<Replay> replay(new Replay());
  replay->entropy_ = seeded_entropy(seed);
  EngineOptions options{.entropy = replay->entropy_.get()};
  const Value& sections = head["config"];
  for (const Member& section : sections.members()) {
    options.config.emplace(section.key(), section.value);
  }
  const Value& namespaces = head["namespaces"];
  for (const Value& ns : namespaces.items()) {
    options.namespaces.push_back(ns.str());
  }
  const Value& kinds = head["kinds"];
  options.places = places_of(kinds, operators);
  replay->engine_ = std::make_unique<Engine>(operators, std::move(options));
  for (const Value& kind : kinds.items()) {
    const auto known = replay->engine_->kinds();
    const auto at =
        std::ranges::find_if(known, [&](const Kind* one) { return is_kind(*one, kind); });
    replay->kinds_.push_back(at == known.end() ? nullptr : *at);
  }
  return replay;
}

const Kind* Replay::kind_of(const Value& number) const {
  const auto index = static_cast<std::size_t>(number.as_int(-1));
  return index < kinds_.size() ? kinds_[index] : nullptr;
}

Result<std::optional<Input>> Replay::event_of(std::string_view what, const Value& line) const {
  using Some = std::optional<Input>;
  const Kind* kind = kind_of(line[2]);
  if (kind == nullptr) {
    return Some();
  }
  if (what == "b") {
    Object version(Value::object({{"metadata", Value::object({{"resourceVersion", line[3]}})}}));
    return Some(WatchEvent{.type = WatchEvent::Type::Bookmark,
                           .kind = kind,
                           .object = std::move(version),
                           .ns = line[4].str()});
  }
  if (what == "l") {
    Relisted list{.kind = kind,
                  .version = id_of(line[3]),
                  .error = error_of(line[6]),
                  .ns = line[4].str(),
                  .first = line[7].as_bool(true),
                  .last = line[8].as_bool(true),
                  .early = line[9].as_bool()};
    const Value& objects = line[5];
    for (const Value& object : objects.items()) {
      list.objects.emplace_back(object);
    }
    return Some(std::move(list));
  }
  if (what != "c" && what != "d") {
    return Error::bad_request("a line begins with \"" + std::string(what) + "\"");
  }
  WatchEvent event{.type = what == "d" ? WatchEvent::Type::Deleted : WatchEvent::Type::Changed,
                   .kind = kind,
                   .object = Object(line[4])};
  if (line[3].is_list()) {
    const Object* known = engine_->cached(*kind, {line[3][0].str(), line[3][1].str()});
    if (known == nullptr) {
      return Error::bad_request("a change of an object that is not in the cache");
    }
    event.object = Object(apply_merge_patch(known->body(), line[4]));
  }
  return Some(std::move(event));
}

Result<std::optional<Input>> Replay::input_of(std::string_view what, const Value& line) const {
  using Some = std::optional<Input>;
  if (what == "t") {
    return Some(Tick{});
  }
  if (what == "s") {
    return Some(ClockStep{.by = Duration(line[2].as_int())});
  }
  if (what == "o") {
    Observation seen{.query = line[2].str(), .error = error_of(line[5])};
    if (!seen.error) {
      seen.value = line[4];
    }
    if (const std::uint64_t asked = id_of(line[3]); asked != 0) {
      const auto ours = questions_.find(asked);
      if (ours == questions_.end()) {
        return Some();
      }
      seen.asked = ours->second;
    }
    return Some(std::move(seen));
  }
  if (what == "w") {
    const auto ours = writes_.find(id_of(line[2]));
    if (ours == writes_.end()) {
      return Some();
    }
    WriteResult result{
        .id = ours->second, .error = error_of(line[4]), .unknown = line[5].as_bool()};
    if (line[3].is_object()) {
      result.object = Object(line[3]);
    }
    if (line[6].is_integer()) {
      result.retry_after = Duration(line[6].as_int());
    }
    result.hidden = line[7].as_bool();
    return Some(std::move(result));
  }
  return event_of(what, line);
}

void Replay::note_ids(const Decision& decision) {
  if (decision.recorded.is_null() || decision.now.is_null() || !decision.now.contains("id")) {
    return;
  }
  auto& ids = decision.now.contains("probe") ? questions_ : writes_;
  ids[id_of(decision.recorded["id"])] = id_of(decision.now["id"]);
}

ReplayedRun Replay::run(const Value& recorded, Instant at) {
  std::vector<Effect> effects;
  engine_->run(at, effects);
  std::vector<Value> now;
  for (const Effect& effect : effects) {
    Value one = to_value(effect);
    if (!one.is_null()) {
      now.push_back(redacted(one));
    }
  }
  std::vector<Value> then;
  for (const Value& one : recorded.items()) {
    then.push_back(redacted(one));
  }
  ReplayedRun result{.at = at, .decisions = pairs(then, now)};
  for (const Decision& decision : result.decisions) {
    note_ids(decision);
  }
  return result;
}

Result<std::optional<ReplayedRun>> Replay::feed(const Value& line) {
  if (!line.is_list() || line.size() < 2 || !line[0].is_string() || !line[1].is_integer()) {
    return Error::bad_request("not a line of a record");
  }
  const Instant at{Duration(line[1].as_int())};
  const std::string_view what = line[0].as_string();
  if (what == "r") {
    const Value& recorded = line[2];
    return std::optional(run(recorded, at));
  }
  ATHANOR_TRY(const std::optional<Input> input, input_of(what, line));
  if (!input) {
    ++skipped_;
    return std::optional<ReplayedRun>();
  }
  engine_->absorb(*input, at);
  return std::optional<ReplayedRun>();
}

}  // namespace athanor::runtime
