//===- HoverDocs.cpp - Documentation where an op is hovered over ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-lsp-server/HoverDocs.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <unistd.h>

using namespace attn::lsp;

/// docs/dialect.md, which is generated from the ops' definitions.
static constexpr llvm::StringLiteral dialectDocs(
#include "tools/attn-lsp-server/DialectDocs.inc"
);

/// The section of an op, without its heading; empty if there is none.
static llvm::StringRef findDocs(llvm::StringRef op) {
  auto [before, section] = dialectDocs.split(("\n### `" + op + "` (").str());
  section = section.split('\n').second;
  for (llvm::StringRef heading : {"\n### ", "\n## "})
    section = section.split(heading).first;
  return section.trim();
}

/// What a value of an op is to it: of an argument of a region of scores or of a
/// mask, what it stands for; of a result, its name; and what the op does. The
/// server says which value of which op it is, and not of which region.
static std::string describeValue(llvm::StringRef op, llvm::StringRef value,
                                 llvm::StringRef docs) {
  // The first line of an op's documentation says what it does.
  std::string text =
      ("`" + op + "`: " + docs.split('\n').first.trim('_')).str();
  std::size_t number = 0;
  auto consumeNumber = [&](llvm::StringRef kind) {
    llvm::StringRef digits = value.split(kind).second;
    return value.contains(kind) &&
           !digits.take_while(llvm::isDigit).getAsInteger(10, number);
  };
  if (consumeNumber("\n\nArgument #") && op.contains("attention")) {
    static constexpr std::array<llvm::StringLiteral, 6> meanings = {
        "the score",
        "the batch entry (`b`)",
        "the query head (`h`)",
        "the position of the query (`p`)",
        "the position of the key (`j`)",
        "what `captures` has"};
    auto meaning = [&](std::size_t place) {
      return meanings[std::min(place, meanings.size() - 1)];
    };
    // A mask does not see the score.
    return ("Of a score: " + meaning(number) +
            "; of a mask: " + meaning(number + 1) + ".\n\n" + text)
        .str();
  }
  if (!consumeNumber("Result #"))
    return text;
  llvm::StringRef table = docs.split("\n#### Results:\n").second;
  llvm::SmallVector<llvm::StringRef> rows;
  table.trim().split(rows, '\n');
  constexpr std::size_t heading = 2;
  if (heading + number >= rows.size() ||
      !rows[heading + number].starts_with("| `") ||
      rows[heading + number].contains("variadic"))
    return text;
  return (rows[heading + number].split('`').second.split('`').first + " of " +
          text)
      .str();
}

/// Adds the documentation of the op that a message is about, or of the value of
/// an op. Returns false if it is about neither.
static bool addDocs(llvm::json::Value &message) {
  llvm::json::Object *object = message.getAsObject();
  llvm::json::Object *result = object ? object->getObject("result") : nullptr;
  llvm::json::Object *contents =
      result ? result->getObject("contents") : nullptr;
  std::optional<llvm::StringRef> text;
  if (contents)
    text = contents->getString("value");
  if (!text)
    return false;
  bool isValue = text->consume_front("Operation: ");
  if (!text->consume_front("\""))
    return false;
  auto [op, rest] = text->split('"');
  llvm::StringRef docs = findDocs(op);
  if (docs.empty())
    return false;
  (*contents)["value"] = isValue ? ("Operation: \"" + op + "\"" + rest +
                                    "\n\n" + describeValue(op, rest, docs))
                                       .str()
                                 : ("### `" + op + "`\n\n" + docs + rest).str();
  return true;
}

static void writeAll(int descriptor, llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno != EINTR)
      return; // The client is gone.
    text = text.drop_front(count < 0 ? 0 : std::size_t(count));
  }
}

/// The length of the message behind a header, or nothing if it says none.
static std::optional<std::size_t> readLength(llvm::StringRef header) {
  std::size_t length = 0;
  llvm::SmallVector<llvm::StringRef> lines;
  header.split(lines, "\r\n");
  for (llvm::StringRef line : lines)
    if (line.consume_front_insensitive("Content-Length:") &&
        llvm::to_integer(line.trim(), length, 10))
      return length;
  return std::nullopt;
}

/// Writes the first message of `received`, and removes it. Returns false if it
/// is not complete.
static bool forwardMessage(std::string &received, int to) {
  auto [header, rest] = llvm::StringRef(received).split("\r\n\r\n");
  if (header.size() == received.size())
    return false;
  std::optional<std::size_t> length = readLength(header);
  if (!length) { // No message of the protocol.
    writeAll(to, received);
    received.clear();
    return false;
  }
  if (rest.size() < *length)
    return false;
  llvm::StringRef body = rest.take_front(*length);
  std::size_t size = std::size_t(body.end() - received.data());
  llvm::Expected<llvm::json::Value> message = llvm::json::parse(body);
  if (message && addDocs(*message)) {
    // As it came, on several lines or on one.
    std::string text = body.trim().contains('\n')
                           ? llvm::formatv("{0:2}\n", *message).str()
                           : llvm::formatv("{0}", *message).str();
    writeAll(to,
             llvm::formatv("Content-Length: {0}\r\n\r\n{1}", text.size(), text)
                 .str());
  } else {
    if (!message)
      llvm::consumeError(message.takeError());
    writeAll(to, llvm::StringRef(received).take_front(size));
  }
  received.erase(0, size);
  return true;
}

static void forward(int from, int to) {
  std::string received;
  std::array<char, 4096> chunk;
  for (;;) {
    ssize_t count = read(from, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    received.append(chunk.data(), std::size_t(count));
    while (forwardMessage(received, to)) {
    }
  }
  writeAll(to, received);
  close(from);
}

HoverDocs::HoverDocs() {
  int ends[2];
  if (pipe(ends) != 0)
    return;
  stdoutCopy = dup(STDOUT_FILENO);
  if (stdoutCopy < 0 || dup2(ends[1], STDOUT_FILENO) < 0) {
    close(ends[0]);
    close(ends[1]);
    stdoutCopy = -1;
    return;
  }
  close(ends[1]);
  thread = std::thread(forward, ends[0], stdoutCopy);
}

HoverDocs::~HoverDocs() {
  if (stdoutCopy < 0)
    return;
  // The pipe ends, and what is in it has been written, before stdout is back.
  close(STDOUT_FILENO);
  thread.join();
  dup2(stdoutCopy, STDOUT_FILENO);
  close(stdoutCopy);
}
