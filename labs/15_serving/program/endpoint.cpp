#include "endpoint.hpp"

#include <chrono>
#include <concepts>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

namespace lab15 {
namespace {

using nlohmann::json;

const std::string model_name = "llama";

/// A request that cannot be answered; the status is HTTP's.
struct refusal {
  int status;
  std::string why;
};

std::string text_of(const json& what) { return what.dump(-1, ' ', false, json::error_handler_t::replace); }

void refuse(httplib::Response& to, const refusal& why) {
  to.status = why.status;
  const char* const type = why.status < 500 ? "invalid_request_error" : "server_error";
  to.set_content(text_of({{"error", {{"message", why.why}, {"type", type}, {"param", nullptr}, {"code", nullptr}}}}),
                 "application/json");
}

/// Numbers of other types are converted by the library, and too large ones cut off: both are refused.
template <class T>
T value_of(const json& given, const char* name) {
  constexpr bool whole = std::integral<T> && !std::same_as<T, bool>;
  using number = std::conditional_t<whole, T, int>;
  const bool fits = given.is_number_unsigned()
                        ? std::in_range<number>(given.get<std::uint64_t>())
                        : given.is_number_integer() && std::in_range<number>(given.get<std::int64_t>());
  try {
    if (!whole || fits) return given.get<T>();
  } catch (const json::exception&) {
  }
  const char* const why = given.is_number_integer() ? " is out of range: " : " has the wrong type: ";
  throw refusal{400, name + std::string(why) + text_of(given)};
}

template <class T>
T field(const json& body, const char* name, T otherwise) {
  const auto found = body.find(name);
  return found == body.end() || found->is_null() ? otherwise : value_of<T>(*found, name);
}

struct completion {
  std::vector<int> prompt;
  int count = 16;
  bool stream = false;
  gpt2::sampling how;
};

completion read(const std::string& text, const gpt2::tokenizer& words) {
  const json body = json::parse(text, nullptr, false);
  if (!body.is_object()) throw refusal{400, "the body is not a JSON object"};
  if (const auto model = field<std::string>(body, "model", model_name); model != model_name)
    throw refusal{404, "there is no model " + model + "; this server has " + model_name};
  const json nothing[] = {nullptr, false, 0, 1, "", json::array()};
  for (const char* name : {"n", "best_of", "echo", "logprobs", "suffix", "stop", "top_p"})
    if (const auto found = body.find(name); found != body.end())
      if (std::find(std::begin(nothing), std::end(nothing), *found) == std::end(nothing))
        throw refusal{400, std::string(name) + " is not offered here"};
  completion result;
  const json prompt = body.value("prompt", json());
  if (prompt.is_string())
    result.prompt = words.encode(prompt);
  else if (prompt.is_array())
    for (const json& token : prompt) result.prompt.push_back(value_of<int>(token, "prompt"));
  else
    throw refusal{400, "prompt must be a text or an array of tokens"};
  result.count = field(body, "max_tokens", result.count);
  result.stream = field(body, "stream", false);
  result.how.temperature = field(body, "temperature", 1.0);
  if (!(result.how.temperature >= 0)) throw refusal{400, "temperature must be at least 0"};
  result.how.seed = field(body, "seed", result.how.seed);
  return result;
}

json choice(int request, const std::string& text, const json& finish) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {{"id", "cmpl-" + std::to_string(request)},
          {"object", "text_completion"},
          {"created", std::chrono::duration_cast<std::chrono::seconds>(now).count()},
          {"model", model_name},
          {"choices", {{{"index", 0}, {"text", text}, {"logprobs", nullptr}, {"finish_reason", finish}}}}};
}

/// Takes the whole characters from the front of `text`: a token may be a part of one.
std::string take_characters(std::string& text) {
  std::size_t last = text.size();
  while (last > 0 && text.size() - last < 3 && (text[last - 1] & 0xC0) == 0x80)
    --last;  // the character's first byte is before
  const auto first = last > 0 ? static_cast<unsigned char>(text[last - 1]) : 0u;
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
  const std::size_t whole = last > 0 && text.size() - (last - 1) < bytes ? last - 1 : text.size();
  std::string result = text.substr(0, whole);
  text.erase(0, whole);
  return result;
}

const char* finish_of(live_engine& engine, int request) { return engine.stopped(request) ? "stop" : "length"; }

void answer(const completion& asked, httplib::Response& to, live_engine& engine, const gpt2::tokenizer& words) {
  const int request = engine.submit(asked.prompt, asked.count, asked.how);
  if (request < 0) throw refusal{503, "this server has had all of its requests; start it again, or with more"};
  if (asked.stream) {
    to.set_chunked_content_provider(
        "text/event-stream", [request, &engine, &words](std::size_t, httplib::DataSink& sink) {
          const auto send = [&](const std::string& event) {
            const std::string line = "data: " + event + "\n\n";
            return sink.write(line.data(), line.size());
          };
          try {
            bool listens = true;
            std::string made;
            for (std::size_t i = 0; listens; ++i) {
              const auto token = engine.wait_for(request, i);
              if (!token) break;
              made += words.decode(std::span(&*token, 1));
              listens = send(text_of(choice(request, take_characters(made), nullptr)));
            }
            if (listens) send(text_of(choice(request, made, finish_of(engine, request)))) && send("[DONE]");
          } catch (const misuse&) {  // the server ends, and so does this text
          }
          sink.done();
          return true;
        });
    return;
  }
  std::vector<int> made;
  while (const auto token = engine.wait_for(request, made.size())) made.push_back(*token);
  json result = choice(request, words.decode(made), finish_of(engine, request));
  result["usage"] = {{"prompt_tokens", asked.prompt.size()},
                     {"completion_tokens", made.size()},
                     {"total_tokens", asked.prompt.size() + made.size()}};
  to.set_content(text_of(result), "application/json");
}

}  // namespace

void offer_completions(httplib::Server& server, live_engine& engine, const gpt2::tokenizer& words) {
  // A client occupies a thread while it waits.
  server.new_task_queue = [] { return new httplib::ThreadPool(128); };
  server.Get("/v1/models", [](const httplib::Request&, httplib::Response& to) {
    to.set_content(text_of({{"object", "list"}, {"data", {{{"id", model_name}, {"object", "model"}}}}}),
                   "application/json");
  });
  server.Post("/v1/completions", [&](const httplib::Request& from, httplib::Response& to) {
    try {
      answer(read(from.body, words), to, engine, words);
    } catch (const refusal& r) {
      refuse(to, r);
    } catch (const llama::model_error& e) {
      refuse(to, {400, e.what()});
    } catch (const misuse& e) {
      refuse(to, {500, e.what()});
    }
  });
}

}  // namespace lab15
