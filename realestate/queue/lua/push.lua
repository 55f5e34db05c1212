-- Enqueue requests that no lease stands behind: seeds. Answers which were new.
local answers = {}
for index, request in ipairs(args.requests) do
  answers[index] = enqueue(request[1], request[2], request[3], request[4], request[5], request[6], request[7],
                           request[8], args.keep) and 1 or 0
end
return answers
