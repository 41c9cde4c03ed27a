import EventLoops
import Foundation
import Glibc
import RunLoopDelivery
import Synchronization
import Testing

@testable import HostResolver

/// HR-012: a client on a run loop, as `CFHostScheduleWithRunLoop` has it.
@Suite struct RunLoopTests {
    private static let mode = RunLoop.Mode("org.example.host")

    @Test(arguments: [RunLoop.Mode.default, mode])
    func tellsTheClientOnTheThreadOfTheLoopInItsMode(mode: RunLoop.Mode) async {
        let told = Locked<[(isOnThread: Bool, error: ResolverError?, count: Int?)]>([])
        await onThread {
            let thread = pthread_self()
            let host = HostLookup(name: "localhost")
            let target = RunLoopTarget.current(mode: mode)
            host.schedule(on: target)
            host.setClient { host, _, error in
                told.withLock {
                    $0.append((pthread_equal(thread, pthread_self()) != 0, error, host.addresses.value?.count))
                }
            }
            do throws(ResolverError) {
                try host.start(.addresses)
            } catch {
                Issue.record(error)
                return
            }
            // Each turn ends when a source has fired; the limit is for a target that never tells.
            let limit = Date(timeIntervalSinceNow: 60)
            while told.withLock({ $0.isEmpty }), RunLoop.current.run(mode: mode, before: limit), limit > Date() {}
            host.unschedule(from: target)
            // Nothing is left on the loop: it returns at once, and says so.
            #expect(!RunLoop.current.run(mode: mode, before: .distantPast))
        }
        let calls = told.withLock { $0 }
        #expect(calls.count == 1)
        #expect(calls.first?.isOnThread == true && calls.first?.error == nil && (calls.first?.count ?? 0) > 0)
    }

    @Test func anotherModeIsNotServed() async {
        let isTold = Atomic(false)
        await onThread {
            let host = HostLookup(name: "127.0.0.1")
            host.schedule(on: RunLoopTarget.current(mode: Self.mode))
            host.setClient { _, _, _ in isTold.store(true, ordering: .relaxed) }
            do throws(ResolverError) { try host.start(.addresses) } catch { Issue.record(error) }
            // Found, but told only where the loop runs in the mode that was asked for.
            while !host.addresses.hasBeenResolved {}
            _ = RunLoop.current.run(mode: .default, before: .distantPast)
            let isToldInVain = isTold.load(ordering: .relaxed)
            #expect(!isToldInVain)
            while !isTold.load(ordering: .relaxed), RunLoop.current.run(mode: Self.mode, before: .distantFuture) {}
            let isToldAtLast = isTold.load(ordering: .relaxed)
            #expect(isToldAtLast)
        }
    }
}
