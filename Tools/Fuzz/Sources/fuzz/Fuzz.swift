internal import Foundation

/// A parser of untrusted bytes, with the conditions that must hold for any input.
///
/// To add a target, declare it in the file of its package, add it to ``all``, and add a folder of the same name with a few
/// valid inputs to `Seeds`. An input that breaks a parser becomes a fixture of the parser's own tests.
struct FuzzTarget: Sendable {
    /// The name of the target, as passed to `Scripts/fuzz`.
    let name: String
    /// Parses the bytes. Must not trap, hang or use unbounded memory. Checks the promises of the parser with `precondition`.
    let run: @Sendable ([UInt8]) -> Void

    /// All targets.
    static let all: [FuzzTarget] = [
        .challenges, .ntlmChallenge, .spnego, .busMessages, .httpRequest, .httpResponse, .ftpListing, .ftpReplies,
        .multicastPackets, .txtRecordFunctions, .webSocket, .webSocketExtensions, .hpackDecode, .hpackEncode,
        .http2Frames, .http2Client, .http2Server,
    ]
}

/// The target that `Scripts/fuzz` selected.
private let target: FuzzTarget = {
    let name = ProcessInfo.processInfo.environment["NETKIT_FUZZ_TARGET"] ?? ""
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        preconditionFailure("unknown fuzz target '\(name)': add it to FuzzTarget.all")
    }
    return target
}()

/// The entry point that libFuzzer calls for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    target.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}
