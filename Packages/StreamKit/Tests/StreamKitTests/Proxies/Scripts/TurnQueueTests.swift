import Testing

@testable import StreamKit

/// Turns in every order of taking, waiting, returning and withdrawing.
struct TurnQueueTests {
    /// The expected state of a queue: the waiting tickets and the number of held turns.
    private struct Model {
        var queue: TurnQueue<Int>
        var held = 0
        /// The tickets that wait for a turn, and those that have one but have not noticed yet.
        var tickets: [(number: Int, ticket: TurnQueue<Int>.Ticket, isGiven: Bool)] = []
        var last = 0

        mutating func enter() {
            last += 1
            if let ticket = queue.enter(last) { tickets.append((last, ticket, false)) } else { held += 1 }
        }

        mutating func wake(_ number: Int?) {
            guard let number, let index = tickets.firstIndex(where: { $0.number == number }) else { return }
            #expect(!tickets[index].isGiven, "a turn is given once")
            #expect(tickets[..<index].allSatisfy { $0.isGiven }, "in order")
            tickets[index].isGiven = true
        }

        mutating func leave() {
            held -= 1
            wake(queue.leave())
        }

        mutating func withdraw(_ index: Int) {
            let (_, ticket, _) = tickets.remove(at: index)
            wake(queue.withdraw(ticket))
        }

        mutating func notice(_ index: Int) {
            tickets.remove(at: index)
            held += 1
        }

        func check(_ limit: Int) -> Bool {
            queue.free + held + tickets.count(where: \.isGiven) == limit
                && (queue.free == 0 || tickets.allSatisfy(\.isGiven))
                && tickets.allSatisfy { queue.hasTurn($0.ticket) == $0.isGiven }
        }
    }

    private func run(_ model: Model, limit: Int, steps: Int) -> Bool {
        guard model.check(limit) else { return false }
        if steps == 0 { return true }
        var next: [Model] = []
        func add(_ change: (inout Model) -> Void) {
            var model = model
            change(&model)
            next.append(model)
        }
        add { $0.enter() }
        if model.held > 0 { add { $0.leave() } }
        for index in model.tickets.indices {
            // A waiter may be cancelled before or after its turn has come.
            add { $0.withdraw(index) }
            if model.tickets[index].isGiven { add { $0.notice(index) } }
        }
        return next.allSatisfy { run($0, limit: limit, steps: steps - 1) }
    }

    @Test("No order of entering, leaving and cancelling loses or duplicates a turn", arguments: [1, 2])
    func keepsItsTurns(_ limit: Int) {
        #expect(run(Model(queue: TurnQueue(limit: limit)), limit: limit, steps: 7))
    }

    @Test("A turn granted just before its waiter is cancelled goes to the next")
    func passesATurnOn() throws {
        var queue = TurnQueue<String>(limit: 1)
        let none = queue.enter("holder")
        #expect(none == nil)
        let tickets = (queue.enter("first"), queue.enter("second"))
        let (first, second) = (try #require(tickets.0), try #require(tickets.1))
        let woken = (queue.leave(), queue.withdraw(first))
        #expect(woken.0 == "first" && woken.1 == "second")
        #expect(queue.hasTurn(second))
        let last = queue.leave()
        #expect(last == nil && queue.free == 1)
    }
}
