extension WireResolver {
    /// What a cache has done so far.
    public struct CacheStatistics: Hashable, Sendable {
        /// Questions answered from it.
        public let hits: Int
        /// Questions that it could not answer.
        public let misses: Int
        /// Answers in it now.
        public let count: Int
    }
}
