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
final class ProxyScriptRun: Sendable {
    /// The function that receives the result, and its pointer.
    struct Client: Sendable {
        let callback: CFProxyAutoConfigurationResultCallback
        let info: ClientInfo
    }

    private struct Loop: @unchecked Sendable {
        // Any thread may wake a run loop.
        let value: CFRunLoop
    }

    private struct State {
        var client: Client?
        var hasStarted = false
        var task: Task<Void, Never>?
        var loops: [Loop] = []
        var result: Result<[ProxyChoice], StreamError>?
        var source: Source?
    }

    /// The source, which owns the run: a weak reference.
    private struct Source: @unchecked Sendable {
        // Any thread may signal and invalidate a source; weak references are atomic.
        weak var value: CFRunLoopSource?
    }

    private let script: ProxyScriptSource
    private let url: URL?
    private let state: Locked<State>

    init(_ script: ProxyScriptSource, _ url: URL?, _ client: Client) {
        self.script = script
        self.url = url
        state = Locked(State(client: client))
    }

    deinit { end() }

    /// Creates the source that owns a run.
    static func makeSource(_ run: ProxyScriptRun) -> Unmanaged<CFRunLoopSource> {
        var context = CFRunLoopSourceContext()
        context.info = Unmanaged.passUnretained(run).toOpaque()
        context.retain = { info in
            guard let info else { return nil }
            return UnsafeRawPointer(Unmanaged<ProxyScriptRun>.fromOpaque(info).retain().toOpaque())
        }
        context.release = { info in
            if let info { Unmanaged<ProxyScriptRun>.fromOpaque(info).release() }
        }
        context.schedule = { info, loop, _ in
            if let info, let loop {
                Unmanaged<ProxyScriptRun>.fromOpaque(info).takeUnretainedValue().start(on: loop)
            }
        }
        context.cancel = { info, loop, _ in
            if let info, let loop {
                Unmanaged<ProxyScriptRun>.fromOpaque(info).takeUnretainedValue().leave(loop)
            }
        }
        context.perform = { info in
            if let info { Unmanaged<ProxyScriptRun>.fromOpaque(info).takeUnretainedValue().deliver() }
        }
        let source: CFRunLoopSource = withExtendedLifetime(run) { CFRunLoopSourceCreate(nil, 0, &context) }
        let reference = Source(value: source)
        run.state.withLock { $0.source = reference }
        return .passRetained(source)
    }

    private func start(on loop: CFRunLoop) {
        let loop = Loop(value: loop)
        let isFirst = state.withLock { state in
            state.loops.append(loop)
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
        let (source, loops) = state.withLock { state in
            state.result = result
            return (state.source, state.loops)
        }
        guard let source = source?.value else { return }
        CFRunLoopSourceSignal(source)
        for loop in loops { CFRunLoopWakeUp(loop.value) }
    }

    /// Removes a run loop that the source was removed from. An invalid source ends the run.
    private func leave(_ loop: CFRunLoop) {
        let loop = Loop(value: loop)
        let source = state.withLock { state in
            if let index = state.loops.firstIndex(where: { $0.value === loop.value }) { state.loops.remove(at: index) }
            return state.source
        }
        guard let source = source?.value, CFRunLoopSourceIsValid(source) else { return end() }
    }

    private func deliver() {
        let (result, client, source) = state.withLock { state in
            let result = state.result.take()
            return (result, result == nil ? nil : state.client.take(), state.source)
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
        if let source = source?.value { CFRunLoopSourceInvalidate(source) }
    }

    private func end() {
        let (task, client) = state.withLock { ($0.task.take(), $0.client.take()) }
        task?.cancel()
        withExtendedLifetime(client) {}  // released without the lock
    }
}
