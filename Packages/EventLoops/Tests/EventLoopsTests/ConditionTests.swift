import Foundation
import Testing

@testable import EventLoops

extension EventLoopsTests {
    /// ``Condition`` and the types built on it: each style of waiting, and each end of a wait.
    @Suite struct ConditionTests {
        @Test func aTaskGetsALaterValue() async throws {
            let shot = OneShot<Int>()
            async let value = shot.value()
            await until { shot.point.isReaderParked }
            #expect(shot.provide(1))
            #expect(try await value == 1)
        }

        @Test func aThreadGetsALaterValue() async {
            let shot = OneShot<Int>()
            async let value = onThread { Result { () throws(WaitError) in try shot.value() } }
            await until { shot.point.isReaderParked }
            shot.provide(1)
            #expect(await value == .success(1))
        }

        @Test func aHandlerGetsEarlierAndLaterValues() {
            let shot = OneShot<Int>()
            let seen = Locked<[Int]>([])
            shot.onValue { value in seen.withLock { $0.append(value) } }
            #expect(seen.withLock { $0 } == [])
            shot.provide(1)
            shot.onValue { value in seen.withLock { $0.append(value) } }
            #expect(seen.withLock { $0 } == [1, 1])
        }

        @Test func theFirstValueCounts() async throws {
            let shot = OneShot<Int>()
            #expect(shot.value == nil)
            #expect(shot.provide(1))
            #expect(!shot.provide(2))
            #expect(shot.value == 1)
            #expect(try await shot.value() == 1)
            #expect(try await shot.value(until: .now) == 1)
        }

        @Test func aDeadlineEndsAWaitAndLosesNothing() async throws {
            let shot = OneShot<Int>()
            await #expect(throws: WaitError.timedOut) { try await shot.value(until: .now) }
            #expect(
                await onThread { Result { () throws(WaitError) in try shot.value(until: .now) } } == .failure(.timedOut)
            )
            shot.provide(1)
            #expect(try await shot.value(until: .now) == 1)
        }

        @Test func cancellingEndsAWaitAndLosesNothing() async throws {
            let mailbox = Mailbox<Int>(limit: 4)
            let task = Task { try await mailbox.next() }
            await until { mailbox.point.isReaderParked }
            task.cancel()
            await #expect(throws: WaitError.cancelled) { try await task.value }
            mailbox.put(1)
            #expect(try await mailbox.next() == 1)
        }

        @Test func anAvailableElementPrecedesACancellation() async throws {
            let mailbox = Mailbox<Int>(limit: 4)
            mailbox.put(1)
            let task = Task { @Sendable in
                withUnsafeCurrentTask { $0?.cancel() }
                return try await mailbox.next()
            }
            #expect(try await task.value == 1)
        }

        @Test func aSecondWaiterIsRefused() async throws {
            let mailbox = Mailbox<Int>(limit: 4)
            async let first = mailbox.next()
            await until { mailbox.point.isReaderParked }
            await #expect(throws: WaitError.busy) { try await mailbox.next() }
            #expect(await onThread { Result { () throws(WaitError) in try mailbox.next() } } == .failure(.busy))
            mailbox.put(1)
            #expect(try await first == 1)
        }

        @Test func anObserverIsCalledForEarlierAndLaterElements() async {
            let loop = EventLoop.forTest("observer")
            let mailbox = Mailbox<Int>(limit: 4)
            let seen = Locked<[Int]>([])
            mailbox.put(1)
            let subscription = mailbox.observe(on: .loop(loop)) {
                while let element = mailbox.tryNext() { seen.withLock { $0.append(element) } }
            }
            await until { seen.withLock { $0 } == [1] }
            mailbox.put(2)
            await until { seen.withLock { $0 } == [1, 2] }
            await turns(of: loop)  // elsewhere, a call may be in progress while it is cancelled
            subscription.cancel()
            mailbox.put(3)
            await turns(of: loop)
            #expect(seen.withLock { $0 } == [1, 2])
            #expect(mailbox.tryNext() == 3)
            loop.shutdown()
        }

        @Test func aSecondObserverReplacesTheFirst() async {
            let loop = EventLoop.forTest("observers")
            let condition = Condition(loop: loop)
            let seen = Locked<[String]>([])
            let first = condition.observe(on: .loop(loop)) { seen.withLock { $0.append("first") } }
            await until { seen.withLock { $0 } == ["first"] }
            let second = condition.observe(on: .loop(loop)) { seen.withLock { $0.append("second") } }
            await until { seen.withLock { $0 } == ["first", "second"] }
            first.cancel()
            condition.notify()
            await until { seen.withLock { $0 } == ["first", "second", "second"] }
            second.cancel()
            loop.shutdown()
        }

        @Test func aSubscriptionEndsOnce() {
            let count = Locked(0)
            do {
                let subscription = Subscription { count.withLock { $0 += 1 } }
                subscription.cancel()
                subscription.cancel()
            }
            #expect(count.withLock { $0 } == 1)
            _ = Subscription { count.withLock { $0 += 1 } }
            #expect(count.withLock { $0 } == 2)
        }
    }

    @Suite struct MailboxTests {
        @Test func elementsComeInOrder() async throws {
            let mailbox = Mailbox<Int>(limit: 1000)
            for element in 0..<500 { mailbox.put(element) }
            for element in 0..<300 { #expect(mailbox.tryNext() == element) }
            for element in 500..<900 { mailbox.put(element) }
            #expect(mailbox.count == 600)
            for element in 300..<400 { #expect(try await mailbox.next() == element) }
            #expect(mailbox.takeAll() == Array(400..<900))
            #expect(mailbox.tryNext() == nil)
        }

        @Test func aFullMailboxDropsElements() {
            let mailbox = Mailbox<Int>(limit: 2)
            #expect(mailbox.put(1))
            #expect(mailbox.put(2))
            #expect(!mailbox.put(3))
            #expect(mailbox.tryNext() == 1)
            #expect(mailbox.put(4))
            #expect(mailbox.takeAll() == [2, 4])
        }

        @Test func aMergingMailboxHoldsOneElement() async throws {
            let mailbox = Mailbox<Set<Int>>(merging: { $0.formUnion($1) })
            mailbox.put([1])
            mailbox.put([2, 3])
            #expect(mailbox.count == 1)
            #expect(try await mailbox.next() == [1, 2, 3])
            mailbox.put([4])
            #expect(mailbox.tryNext() == [4])
            #expect(mailbox.tryNext() == nil)
        }

        @Test func theEndFollowsTheElements() async throws {
            let mailbox = Mailbox<Int>(limit: 4)
            mailbox.put(1)
            mailbox.finish()
            mailbox.finish()
            #expect(!mailbox.put(2))
            #expect(!mailbox.isOver)
            #expect(try await mailbox.next() == 1)
            #expect(mailbox.isOver)
            #expect(try await mailbox.next() == nil)
            #expect(try await mailbox.next() == nil)
        }

        @Test func theEndEndsAWait() async throws {
            let mailbox = Mailbox<Int>(limit: 4)
            async let element = mailbox.next()
            await until { mailbox.point.isReaderParked }
            mailbox.finish()
            #expect(try await element == nil)
        }

        @Test func nothingIsLostBetweenThreads() async throws {
            let mailbox = Mailbox<Int>(limit: .max)
            async let sent: Void = onThread {
                for element in 0..<10_000 { mailbox.put(element) }
                mailbox.finish()
            }
            var next = 0
            while let element = try await mailbox.next() {
                #expect(element == next)
                next += 1
            }
            await sent
            #expect(next == 10_000)
        }

        @Test func aBroadcastReachesAllSubscribers() async throws {
            let broadcast = Broadcast<Int> { Mailbox(limit: 4) }
            #expect(!broadcast.hasSubscribers)
            broadcast.send(0)
            let first = broadcast.subscribe()
            var second: Mailbox<Int>? = broadcast.subscribe()
            broadcast.send(1)
            #expect(first.tryNext() == 1)
            #expect(second?.tryNext() == 1)
            second = nil
            broadcast.send(2)
            #expect(first.tryNext() == 2)
            #expect(broadcast.hasSubscribers)
            broadcast.finish()
            #expect(try await first.next() == nil)
            #expect(try await broadcast.subscribe().next() == nil)
        }
    }

    @Suite struct AsyncSemaphoreTests {
        @Test func permitsAreGrantedInOrder() async throws {
            let semaphore = AsyncSemaphore(1)
            try await semaphore.wait()
            #expect(!semaphore.tryWait())
            let order = Locked<[Int]>([])
            var tasks: [Task<Void, any Error>] = []
            for number in 0..<5 {
                let task = Task { @Sendable in
                    try await semaphore.wait()
                    order.withLock { $0.append(number) }
                    semaphore.signal()
                }
                tasks.append(task)
                await until { semaphore.waiterCount == number + 1 }
            }
            semaphore.signal()
            for task in tasks { try await task.value }
            #expect(order.withLock { $0 } == [0, 1, 2, 3, 4])
            #expect(semaphore.tryWait())
            #expect(!semaphore.tryWait())
        }

        @Test func aThreadWaitsLikeATask() async throws {
            let semaphore = AsyncSemaphore(0)
            async let result = onThread { Result { () throws(WaitError) in try semaphore.wait() } }
            await until { semaphore.waiterCount == 1 }
            semaphore.signal()
            try await result.get()
            await #expect(throws: WaitError.timedOut) { try await semaphore.wait(until: .now) }
        }

        @Test func aWaiterThatGivesUpHoldsNoPermit() async throws {
            let semaphore = AsyncSemaphore(1)
            try await semaphore.wait()
            let task = Task { try await semaphore.wait() }
            await until { semaphore.waiterCount == 1 }
            task.cancel()
            await #expect(throws: WaitError.cancelled) { try await task.value }
            await #expect(throws: WaitError.timedOut) { try await semaphore.wait(until: .now) }
            #expect(semaphore.waiterCount == 0)
            semaphore.signal()
            #expect(semaphore.tryWait())
        }

        @Test func closingEndsTheWaits() async throws {
            let semaphore = AsyncSemaphore(1)
            try await semaphore.wait()
            let task = Task { try await semaphore.wait() }
            await until { semaphore.waiterCount == 1 }
            async let blocked = onThread { Result { () throws(WaitError) in try semaphore.wait() } }
            await until { semaphore.waiterCount == 2 }
            semaphore.close()
            await #expect(throws: WaitError.closed) { try await task.value }
            let result = await blocked
            #expect(throws: WaitError.closed) { try result.get() }
            await #expect(throws: WaitError.closed) { try await semaphore.wait() }
            #expect(semaphore.waiterCount == 0 && semaphore.available == 0)
            semaphore.signal()
            #expect(semaphore.available == 1 && !semaphore.tryWait())
        }

        /// The permit and the cancellation race. Whichever wins, one permit is left at the end.
        @Test func aPermitThatRacesWithACancellationIsNotLost() async throws {
            for _ in 0..<200 {
                let semaphore = AsyncSemaphore(1)
                try await semaphore.wait()
                let task = Task { try await semaphore.wait() }
                await until { semaphore.waiterCount == 1 }
                async let given: Void = onThread { semaphore.signal() }
                task.cancel()
                await given
                if case .success = await task.result { semaphore.signal() }
                #expect(semaphore.tryWait())
                #expect(!semaphore.tryWait())
            }
        }
    }
    /// Permits in every order of taking, waiting, returning, withdrawing and closing.
    @Suite struct PermitQueueTests {
        /// The expected state of a queue: the waiting tickets and the number of held permits.
        private struct Model {
            var queue: PermitQueue<Int>
            var held = 0
            var isClosed = false
            /// The tickets that wait for a permit, and those that have one but have not noticed yet.
            var tickets: [(number: Int, ticket: PermitTicket, isGranted: Bool)] = []
            var last = 0

            mutating func enter() {
                last += 1
                switch queue.enter(last) {
                case .granted: held += 1
                case .queued(let ticket): tickets.append((last, ticket, false))
                case .closed: #expect(isClosed)
                }
            }

            mutating func wake(_ number: Int?) {
                guard let number, let index = tickets.firstIndex(where: { $0.number == number }) else { return }
                #expect(!tickets[index].isGranted, "a permit is granted once")
                #expect(tickets[..<index].allSatisfy { $0.isGranted }, "in order")
                #expect(!isClosed)
                tickets[index].isGranted = true
            }

            mutating func give() {
                held -= 1
                wake(queue.give())
            }

            mutating func withdraw(_ index: Int) {
                let (_, ticket, _) = tickets.remove(at: index)
                wake(queue.withdraw(ticket))
            }

            mutating func notice(_ index: Int) {
                tickets.remove(at: index)
                held += 1
            }

            mutating func close() {
                isClosed = true
                #expect(queue.close() == tickets.filter { !$0.isGranted }.map(\.number))
            }

            func isRight(_ permits: Int) -> Bool {
                queue.free + held + tickets.count(where: \.isGranted) == permits
                    && (isClosed || queue.free == 0 || tickets.allSatisfy(\.isGranted))
                    && queue.waiterCount == tickets.count { !$0.isGranted }
            }
        }

        private func run(_ model: Model, permits: Int, steps: Int) -> Bool {
            guard model.isRight(permits) else { return false }
            if steps == 0 { return true }
            var next: [Model] = []
            func add(_ change: (inout Model) -> Void) {
                var model = model
                change(&model)
                next.append(model)
            }
            add { $0.enter() }
            if model.held > 0 { add { $0.give() } }
            if !model.isClosed { add { $0.close() } }
            for index in model.tickets.indices {
                // A waiter may be cancelled before or after it was granted a permit.
                add { $0.withdraw(index) }
                if model.tickets[index].isGranted { add { $0.notice(index) } }
            }
            return next.allSatisfy { run($0, permits: permits, steps: steps - 1) }
        }

        @Test("No order of entering, leaving, cancelling and closing loses or duplicates a permit", arguments: [1, 2])
        func keepsItsPermits(_ permits: Int) {
            #expect(run(Model(queue: PermitQueue(permits)), permits: permits, steps: 7))
        }

        @Test("A permit granted just before its waiter is cancelled goes to the next")
        func passesAPermitOn() throws {
            var queue = PermitQueue<String>(1)
            let isTaken = queue.take()
            #expect(isTaken)
            let entries = (queue.enter("first"), queue.enter("second"))
            guard case (.queued(let first), .queued(_)) = entries else {
                Issue.record("both wait: \(entries)")
                return
            }
            let woken = (queue.give(), queue.withdraw(first))
            #expect(woken.0 == "first" && woken.1 == "second")
            let last = queue.give()
            #expect(last == nil && queue.free == 1)
        }
    }
}
