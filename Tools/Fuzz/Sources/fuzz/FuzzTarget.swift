/// A reader of strangers' bytes, and what must hold whatever the bytes are.
///
/// To add one: a file like `Challenges.swift`, a line in ``all``, a folder of the same name in `Seeds` with a few
/// inputs that are right. Inputs that were found to break something become fixtures of the reader's own tests.
struct FuzzTarget: Sendable {
    /// What `Scripts/fuzz` calls it.
    let name: String
    /// Reads the bytes. It may not trap, hang or take memory without bound; what it promises it checks with `precondition`.
    let run: @Sendable ([UInt8]) -> Void

    /// All of them.
    static let all: [FuzzTarget] = [
        .challenges, .ntlmChallenge, .spnego, .busMessages, .httpRequest, .httpResponse, .ftpListing, .ftpReplies,
        .multicastPackets,
    ]
}
