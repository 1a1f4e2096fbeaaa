// SPDX-License-Identifier: Apache-2.0
// Values as bytes: the notation that packed caches and packed stores share. One byte says what
// follows, numbers are base-128 (low digits first). How a text and the name of a member are written
// is the packer's own affair: it knows which of them come again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/value.hpp"

namespace athanor::value_bytes {

enum class Mark : unsigned char {
  Null,
  False,
  True,
  Positive,  // Int from 0 on
  Negative,  // Int: -1 - what follows
  Uint,
  Double,
  Text,
  List,
  Object,
  FirstFree,  // from here on a packer's own marks, all for texts
};

void put_mark(std::string& out, Mark mark);
void put_number(std::string& out, std::uint64_t number);
// Writes the text's size and bytes, without a mark.
void put_text(std::string& out, std::string_view text);

// Takes the result, like all below, from the front of `in`, which must hold it whole.
Mark get_mark(std::string_view& in);
std::uint64_t get_number(std::string_view& in);
std::string_view get_text(std::string_view& in);

// How a packer writes texts and names, and reads them again.
class Texts {
 public:
  Texts() = default;
  Texts(const Texts&) = delete;
  Texts& operator=(const Texts&) = delete;
  Texts(Texts&&) = default;
  Texts& operator=(Texts&&) = default;
  virtual ~Texts() = default;

  // Writes a text with a mark in front: Text or one of its own.
  virtual void put_string(std::string& out, std::string_view text) = 0;
  virtual void put_name(std::string& out, const Value& name) = 0;
  // Reads the text behind the mark.
  virtual Value get_string(Mark mark, std::string_view& in) = 0;
  virtual Value get_name(std::string_view& in) = 0;
};

void put(std::string& out, const Value& value, Texts& texts);

// Takes values from the front of bytes that put() made: numbers of the same kind and bits, members
// in the same order. Keeps the buffers for parts of lists and objects between two values.
class Reader {
 public:
  Value get(std::string_view& in, Texts& texts);

 private:
  Value get_list(std::string_view& in, Texts& texts);
  Value get_object(std::string_view& in, Texts& texts);

  // The parts of all lists and objects that are not whole yet.
  std::vector<Value> items_{};
  std::vector<Member> members_{};
};

}  // namespace athanor::value_bytes
