@_spi(Packages) import EventLoops
import Testing

struct DeferredTests {
    @Test func itemsAreTakenOnceInTheirOrder() {
        var deferred = Deferred<Int>()
        #expect(deferred.isEmpty)
        for number in 1...3 { deferred.add(number) }
        var taken: [Int] = []
        let all = deferred.take()
        #expect(deferred.isEmpty && !all.isEmpty)
        all.forEach { taken.append($0) }
        #expect(taken == [1, 2, 3])
        deferred.take().forEach { _ in Issue.record("an item is taken twice") }
        deferred.add(4)
        deferred.take().forEach { taken.append($0) }
        #expect(taken.last == 4)
    }

    @Test func allItemsAreRemovedInTheirOrder() {
        var deferred = Deferred<Int>()
        for number in 1...3 { deferred.add(number) }
        var removed: [Int] = []
        deferred.removeAll { removed.append($0) }
        #expect(removed == [1, 2, 3] && deferred.isEmpty)
        deferred.removeAll { _ in Issue.record("an item is removed twice") }
    }

    /// An optional item counts even if it is nil.
    @Test func nilIsAnItem() {
        var deferred = Deferred<Int?>()
        deferred.add(nil)
        #expect(!deferred.isEmpty)
    }
}
