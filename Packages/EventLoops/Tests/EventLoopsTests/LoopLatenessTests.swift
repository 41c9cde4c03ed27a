import Testing

@testable import EventLoops

extension EventLoopsTests {
    @Suite struct LoopLatenessTests {
        private let start = Moment.now

        private func moments(_ milliseconds: [Int]) -> [Moment] {
            milliseconds.map { start + .milliseconds($0) }
        }

        @Test(arguments: [
            // When timers were due and when the loop ran them, turn by turn; the worst of all.
            ([(due: [5], now: 5)], 0, 1),
            ([(due: [5], now: 6), (due: [7], now: 7)], 1, 2),
            ([(due: [9, 2, 4], now: 10)], 8, 3),
            ([(due: [0], now: 40), (due: [50, 60], now: 75), (due: [80], now: 81)], 40, 4),
            ([(due: [], now: 90)], 0, 0),
        ])
        func theWorstIsThatOfTheTimerThatWaitedLongest(turns: [(due: [Int], now: Int)], worst: Int, count: Int) {
            var lateness = LoopLateness()
            for turn in turns {
                lateness.noteTimers(due: moments(turn.due), at: start + .milliseconds(turn.now))
            }
            #expect(lateness.worst == .milliseconds(worst))
            #expect(lateness.timerCount == count)
            #expect(lateness.longestTurn == nil)
        }

        @Test func theLongestTurnIsKept() {
            var lateness = LoopLateness()
            for milliseconds in [3, 120, 7] { lateness.noteTurn(lasting: .milliseconds(milliseconds)) }
            #expect(lateness.longestTurn == .milliseconds(120))
            #expect(lateness.timerCount == 0)
        }

        /// A job computes on the loop's thread until 30 ms after a timer's deadline: the loop cannot be less late than that.
        @Test func aJobThatComputesMakesTimersLate() async {
            let loop = EventLoop.forTest("late")
            defer { loop.shutdown() }
            loop.onSlowTurn = { _ in }
            await withCheckedContinuation { continuation in
                loop.execute {
                    let deadline = Moment.now + .milliseconds(1)
                    loop.schedule(at: deadline) { continuation.resume() }
                    while Moment.now < deadline + .milliseconds(30) {}
                }
            }
            await turns(of: loop)
            let lateness = loop.resetLateness()
            #expect(lateness.worst >= .milliseconds(30))
            #expect(lateness.timerCount == 1)
            #expect(lateness.longestTurn ?? .zero >= .milliseconds(30))
            #expect(loop.lateness.timerCount == 0 && loop.lateness.worst == .zero)
        }

        /// An hour has passed since its deadline, but the loop has not kept it waiting for an hour.
        @Test func aTimerScheduledForThePastIsDueFromThenOn() async {
            let loop = EventLoop.forTest("past")
            defer { loop.shutdown() }
            await withCheckedContinuation { continuation in
                loop.schedule(at: .now - .seconds(3600)) { continuation.resume() }
            }
            #expect(loop.lateness.timerCount == 1)
            #expect(loop.lateness.worst < .seconds(3600))
        }
    }
}
