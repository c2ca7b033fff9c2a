// The loop in C++17: handles are owned, and time leaps from wait to wait.
#include <decluster.h>

#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

struct Free {
    void operator()(decluster_rewriter *rewriter) const { decluster_rewriter_free(rewriter); }
};

int main()
{
    const std::string stream{std::istreambuf_iterator<char>(std::cin), {}};
    decluster_rewriter *made = nullptr;
    if (decluster_rewriter_new(nullptr, DECLUSTER_DIALECT_UNKNOWN, DECLUSTER_MODE_STREAM, 0, &made))
        return 1;
    const std::unique_ptr<decluster_rewriter, Free> rewriter{made};
    if (decluster_rewriter_push(rewriter.get(), 0, stream.data(), stream.size()) ||
        decluster_rewriter_finish(rewriter.get(), 0))
        return 1;
    std::uint64_t now = 0;
    decluster_output out{};
    while (decluster_rewriter_poll(rewriter.get(), now, &out, sizeof out) == DECLUSTER_OK) {
        if (out.type == DECLUSTER_OUTPUT_FINISHED)
            return out.verdict == DECLUSTER_VERDICT_COMPLETE ? 0 : 1;
        if (out.type == DECLUSTER_OUTPUT_WAIT)
            now = out.at_ns;
        else
            std::cout << std::string_view{out.text, out.text_length};
    }
    return 1;
}
