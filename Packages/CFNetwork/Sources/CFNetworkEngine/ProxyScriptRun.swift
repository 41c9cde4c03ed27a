internal import CFNetworkC
internal import CFNetworkC.Runtime
@preconcurrency internal import CoreFoundation
internal import EventLoops
internal import Foundation
internal import HTTPStream
internal import StreamKit

/// A run of a proxy script as the source of a run loop.
///
/// Theory of operation. A version-0 source owns this object. Adding the source to a run loop starts a task, which stores the result,
/// signals the source and wakes the run loops. The source calls the client and invalidates itself. Invalidating it cancels the task.
final class ProxyScriptRun: LoopSourceOwner {
    /// The function that receives the result, and its pointer.
    struct Client: Sendable {
        let callback: CFProxyAutoConfigurationResultCallback
        let info: ClientInfo
    }

    private struct State {
        var client: Client?
        var hasStarted = false
        var task: Task<Void, Never>?
        var result: Result<[ProxyChoice], StreamError>?
    }

    private let script: ProxyScriptSource
    private let url: URL?
    private let state: Locked<State>
    private let source = LoopSource()

    init(_ script: ProxyScriptSource, _ url: URL?, _ client: Client) {
        self.script = script
        self.url = url
        state = Locked(State(client: client))
    }

    deinit { end() }

    /// Creates the source, which owns this object.
    func makeSource() -> Unmanaged<CFRunLoopSource> { .passRetained(source.makeSource(nil, order: 0, of: self)) }

    func sourceEntered() {
        let isFirst = state.withLock { state in
            defer { state.hasStarted = true }
            return !state.hasStarted && state.client != nil
        }
        guard isFirst else { return }
        let task = Task { [weak self, script, url] in
            let result: Result<[ProxyChoice], StreamError>
            do throws(StreamError) {
                guard let url else { throw StreamError(posix: 22) }  // EINVAL
                result = .success(try await ProxyScriptStore.shared.script(script).choices(for: url))
            } catch {
                result = .failure(error)
            }
            self?.finish(result)
        }
        state.withLock { $0.task = task }
    }

    private func finish(_ result: Result<[ProxyChoice], StreamError>) {
        state.withLock { $0.result = result }
        source.signal()
    }

    func sourceEnded() { end() }

    func sourceFired() {
        let (result, client) = state.withLock { state in
            let result = state.result.take()
            return (result, result == nil ? nil : state.client.take())
        }
        guard let result, let client else { return }
        let list: Unmanaged<CFArray>
        var error: Unmanaged<CFError>?
        switch result {
        case .success(let choices):
            list = cfArray(choices.compactMap { choice in url.map { choice.cfDictionary(for: $0) } })
        case .failure(let failure):
            list = cfArray([Unmanaged<CFDictionary>]())
            error = failure.cfError
        }
        cfn_proxy_result_call(
            client.callback, client.info.pointer, list.takeUnretainedValue(), error?.takeUnretainedValue())
        list.release()
        error?.release()
        if let source = source.validSource { CFRunLoopSourceInvalidate(source) }
    }

    private func end() {
        let (task, client) = state.withLock { ($0.task.take(), $0.client.take()) }
        task?.cancel()
        withExtendedLifetime(client) {}  // released without the lock
    }
}
