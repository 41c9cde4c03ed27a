extension WireResolver {
    /// The counters of a resolver's cache.
    public struct CacheStatistics: Hashable, Sendable {
        /// The number of questions answered from the cache.
        public let hits: Int
        /// The number of questions that the cache could not answer.
        public let misses: Int
        /// The current number of answers in the cache.
        public let count: Int
    }
}
