import Testing

@testable import EventLoops

extension EventLoopsTests {
    @Suite struct TimerQueueTests {
        private func timer(_ milliseconds: Int, from start: Moment) -> LoopTimer {
            LoopTimer(deadline: start + .milliseconds(milliseconds), loop: .shared) {}
        }

        @Test func givesTimersInTheOrderOfTheirDeadlines() {
            let start = Moment.now
            var queue = TimerQueue()
            for milliseconds in [5, 1, 9, 3, 3, 7, 0] { queue.insert(timer(milliseconds, from: start)) }
            var order: [Moment] = []
            while let due = queue.popDue(now: start + .milliseconds(7)) { order.append(due.deadline) }
            #expect(order == [0, 1, 3, 3, 5, 7].map { start + .milliseconds($0) })
            #expect(queue.nextDeadline == start + .milliseconds(9))
        }

        @Test func removesFromAnywhereAndKeepsTheOrder() {
            let start = Moment.now
            var random = SystemRandomNumberGenerator()
            for _ in 0..<200 {
                var queue = TimerQueue()
                var timers = (0..<40).map { _ in timer(Int.random(in: 0..<100, using: &random), from: start) }
                timers.forEach { queue.insert($0) }
                for _ in 0..<20 {
                    let removed = timers.remove(at: Int.random(in: 0..<timers.count, using: &random))
                    queue.remove(removed)
                    queue.remove(removed)  // a second time is harmless
                }
                var order: [Moment] = []
                while let due = queue.popDue(now: start + .seconds(1)) { order.append(due.deadline) }
                #expect(order == timers.map(\.deadline).sorted())
                #expect(queue.isEmpty)
            }
        }
    }
}
