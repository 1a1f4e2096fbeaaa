// SPDX-License-Identifier: Apache-2.0
// Reads that go past the caches. A cache may lag behind, and right after a start it may show an
// older state; a decision that absence makes final (a job fails, a child is a stray) asks the API
// server first. Such a read is an observation: the controller gives up its turn, and runs again
// when the answer is there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "kube/value/kind.hpp"
#include "kube/value/object.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/view.hpp"

namespace athanor {

// The question, as drivers see it. Its text is the observation's query: "live:<group> <version>
// <Kind> <plural> <namespace> <name> [<seen> [<label>]]", "-" for an empty part; no name: all
// objects of the kind in that namespace (or anywhere), those with the label alone where one is
// named.
struct LiveQuery {
  std::string group{}, version{}, kind{}, plural{};
  Key key{};
  // The resourceVersion that the asker's view has. It makes another question of the same words:
  // once the view has moved on, an answer of before is none.
  std::string seen{};
  std::string label{};  // "key=value", of lists

  // Returns the query for one named object.
  static LiveQuery of(const Kind& kind, const Key& key);
  // Parses the query; nullopt for any other query.
  static std::optional<LiveQuery> parse(std::string_view query);
  [[nodiscard]] std::string text() const;
  // Returns "/apis/batch/v1/namespaces/a/jobs/b", the path to GET.
  [[nodiscard]] std::string path() const;
  // Returns the answer to report: {"objects": [...]}; an absent object is an empty list. Trouble is
  // reported as an error.
  static Value answer(const std::vector<Object>& objects);
};

// The answer to a LiveQuery, as a controller reads it.
struct Live {
  bool known = false;             // false: asked, the answer will queue the key again
  std::vector<Object> objects{};  // at most one for a named object
  std::optional<Error> error{};   // what the API server answered instead; not known then
  [[nodiscard]] bool absent() const { return known && objects.empty(); }
};
// An answer counts for kLiveAge; with `seen` (LiveQuery) as long as the view does not change, at
// most.
inline constexpr Duration kLiveAge = std::chrono::seconds(2);
Live read_live(const View& view, const Kind& kind, const Key& key, Instant now,
               std::string_view seen = {});
Live list_live(const View& view, const Kind& kind, Instant now);
// The objects of a namespace with this label ("key=value").
struct Labelled {
  std::string ns{};
  std::string label{};
};
Live list_live(const View& view, const Kind& kind, const Labelled& which, Instant now,
               std::string_view seen);

}  // namespace athanor
