import EventLoops
import Foundation
import Glibc
import RunLoopDelivery
import Synchronization
import Testing

@testable import HostResolver

/// HR-012: a client on a run loop, as with `CFHostScheduleWithRunLoop`.
@Suite struct RunLoopTests {
    private static let mode = RunLoop.Mode("org.example.host")

    @Test(arguments: [RunLoop.Mode.default, mode])
    func callsTheClientOnTheLoopsThreadInItsMode(mode: RunLoop.Mode) async {
        let reports = Locked<[(isOnThread: Bool, error: ResolverError?, count: Int?)]>([])
        await onThread {
            let thread = pthread_self()
            let host = HostLookup(name: "localhost")
            let target = RunLoopTarget.current(mode: mode)
            host.schedule(on: target)
            host.setClient { host, _, error in
                reports.withLock {
                    $0.append((pthread_equal(thread, pthread_self()) != 0, error, host.addresses.value?.count))
                }
            }
            do throws(ResolverError) {
                try host.start(.addresses)
            } catch {
                Issue.record(error)
                return
            }
            // Each turn ends when a source has fired. The limit is for a client that is never called.
            let limit = Date(timeIntervalSinceNow: 60)
            while reports.withLock({ $0.isEmpty }), RunLoop.current.run(mode: mode, before: limit), limit > Date() {}
            host.unschedule(from: target)
            // No source is left on the run loop: it returns false at once.
            #expect(!RunLoop.current.run(mode: mode, before: .distantPast))
        }
        let calls = reports.withLock { $0 }
        #expect(calls.count == 1)
        #expect(calls.first?.isOnThread == true && calls.first?.error == nil && (calls.first?.count ?? 0) > 0)
    }

    @Test func anotherModeIsNotServed() async {
        let isCalled = Atomic(false)
        await onThread {
            let host = HostLookup(name: "127.0.0.1")
            host.schedule(on: RunLoopTarget.current(mode: Self.mode))
            host.setClient { _, _, _ in isCalled.store(true, ordering: .relaxed) }
            do throws(ResolverError) { try host.start(.addresses) } catch { Issue.record(error) }
            // The lookup has ended, but the client is called only when the loop runs in the scheduled mode.
            while !host.addresses.hasBeenResolved {}
            _ = RunLoop.current.run(mode: .default, before: .distantPast)
            let wasCalledInDefaultMode = isCalled.load(ordering: .relaxed)
            #expect(!wasCalledInDefaultMode)
            while !isCalled.load(ordering: .relaxed), RunLoop.current.run(mode: Self.mode, before: .distantFuture) {}
            let wasCalled = isCalled.load(ordering: .relaxed)
            #expect(wasCalled)
        }
    }
}
