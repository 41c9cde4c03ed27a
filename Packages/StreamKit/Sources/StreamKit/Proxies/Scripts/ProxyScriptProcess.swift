internal import CProxyScript
internal import EventLoops
internal import Glibc

/// One run of a script, in a process of its own that ends with this.
///
/// Theory of operation. A script comes from the network, may loop for ever, and is run by an engine in C that cannot be told to
/// stop: so it gets a process, which is given limits of its own and is ended at the deadline whatever it does. The process
/// writes its answer into a pipe, which is read like any stream, so that nothing blocks but who asked to.
final class ProxyScriptProcess: Sendable {
    let process: Int32
    private let answer: ReadStream
    private let deadline: ContinuousClock.Instant
    private let limit: Duration

    init(_ script: ProxyScript, _ question: ProxyScriptQuestion) throws(StreamError) {
        limit = script.timeLimit
        deadline = .now + limit
        let seconds = UInt32(clamping: max(1, limit.components.seconds + (limit.components.attoseconds > 0 ? 1 : 0)))
        var process: Int32 = 0
        let descriptor = netkit_pac_start(
            script.text, question.url, question.host, min(seconds, 86_400), UInt(ProxyScript.memoryLimit), &process)
        guard descriptor >= 0 else {
            if let reason = netkit_pac_missing() { throw .scriptsUnavailable(String(cString: reason)) }
            throw StreamError(posix: -descriptor)
        }
        self.process = process
        let pair = StreamPair(descriptor: descriptor, ownership: .owned)
        answer = pair.input
    }

    deinit {
        answer.close()
        netkit_pac_end(process)
    }

    nonisolated(nonsending) func choices() async throws(StreamError) -> [ProxyChoice] {
        var said: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        do throws(StreamError) {
            try begin()
            while case let count = try await answer.read(into: &buffer), count > 0 {
                try take(buffer[..<count], into: &said)
            }
        } catch {
            throw explained(error)
        }
        return try ProxyScriptProcess.choices(in: said)
    }

    @available(*, noasync)
    func blockingChoices() throws(StreamError) -> [ProxyChoice] {
        var said: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        do throws(StreamError) {
            try begin()
            while case let count = try answer.read(into: &buffer), count > 0 {
                try take(buffer[..<count], into: &said)
            }
        } catch {
            throw explained(error)
        }
        return try ProxyScriptProcess.choices(in: said)
    }

    private func begin() throws(StreamError) {
        try answer.set(.readLimit, to: limit)
        try answer.open()
    }

    /// Keeps what came; the next read may wait for what is left of the time.
    private func take(_ bytes: ArraySlice<UInt8>, into said: inout [UInt8]) throws(StreamError) {
        said += bytes
        if said.count > ProxyScript.longestAnswer { throw .script(.scriptAnswerTooLong(ProxyScript.longestAnswer)) }
        try answer.set(.readLimit, to: max(deadline - .now, .nanoseconds(1)))
    }

    private func explained(_ error: StreamError) -> StreamError {
        error == .timedOut ? .script(.scriptTooSlow(limit), underlying: error) : error
    }

    /// Reads what the process wrote.
    static func choices(in said: [UInt8]) throws(StreamError) -> [ProxyChoice] {
        guard let letter = said.first else { throw .script(.scriptDied) }
        let text = String(decoding: said.dropFirst(), as: UTF8.self)
        switch letter {
        case UInt8(ascii: "A"): break
        case UInt8(ascii: "P"): throw .script(.scriptUnreadable(text))
        default: throw .script(.scriptFailed(text))
        }
        return try ProxyScriptAnswer(text).choices
    }
}
